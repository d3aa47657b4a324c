import { Panel, Table } from "../Panel.jsx";
import "./Charges.css";

const money = (cents) => new Intl.NumberFormat("en", { style: "currency", currency: "EUR" }).format(cents / 100);
const DAY = 150;

export default function Charges() {
  const rows = [8, 10, 12, 15, 20].map((metres) => [`${metres} m`, money(metres * DAY), money(metres * DAY * 24)]);
  return (
    <Panel name="charges" build="build-0" title="Charges">
      <Table head={["Length", "A day", "A month"]} rows={rows} />
    </Panel>
  );
}
