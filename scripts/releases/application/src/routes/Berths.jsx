import { Panel, Table } from "../Panel.jsx";
import "./Berths.css";

const ROWS = [
  ["A1", "Gudrun", "12 m"],
  ["A2", "free", "14 m"],
  ["B1", "Northern Light", "22 m"],
  ["B2", "Marie", "9 m"],
];

export default function Berths() {
  return (
    <Panel name="berths" build="build-0" title="Berths">
      <Table head={["Berth", "Ship", "Length"]} rows={ROWS} />
    </Panel>
  );
}
