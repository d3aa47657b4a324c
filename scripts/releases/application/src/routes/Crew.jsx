import { Panel } from "../Panel.jsx";
import "./Crew.css";

const CREW = ["Harbour master", "Deputy", "Crane", "Pilot", "Night watch", "Workshop"];

export default function Crew() {
  return (
    <Panel name="crew" build="build-0" title="Crew">
      <ul>{CREW.map((name) => <li key={name}>{name}</li>)}</ul>
    </Panel>
  );
}
