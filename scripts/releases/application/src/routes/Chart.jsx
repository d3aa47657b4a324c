import { useState } from "react";
import { Panel } from "../Panel.jsx";
import chart from "../chart.svg";
import "./Chart.css";

// The image counts as loaded when the browser has drawn it.
export default function Chart() {
  const [state, become] = useState({ "data-waiting": true });
  return (
    <Panel name="chart" build="build-0" title="Chart">
      <img src={chart} alt="The basin" onLoad={() => become({})} onError={() => become({ "data-failed": "chart.svg" })} {...state} />
    </Panel>
  );
}
