import { useState } from "react";
import { Panel } from "../Panel.jsx";
import "./Contact.css";

export default function Contact() {
  const [ship, name] = useState("");
  return (
    <Panel name="contact" build="build-0" title="Contact">
      <label>Ship <input value={ship} onChange={(event) => name(event.target.value)} /></label>
      <p>{ship ? `We listen for ${ship} on channel 12.` : "Call us on channel 12."}</p>
    </Panel>
  );
}
