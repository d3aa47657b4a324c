import { Panel, Table } from "../Panel.jsx";
import "./Tides.css";

const PERIOD_MINUTES = 745;
const time = (minutes) => `${String(Math.floor(minutes / 60) % 24).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

export default function Tides() {
  const rows = [0, 1, 2, 3].map((at) => [time(95 + at * PERIOD_MINUTES), `${(3.1 + (at % 2) * 0.2).toFixed(1)} m`]);
  return (
    <Panel name="tides" build="build-0" title="High water">
      <Table head={["Time", "Height"]} rows={rows} />
    </Panel>
  );
}
