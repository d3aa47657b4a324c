import { useEffect, useState } from "react";
import { Panel } from "../Panel.jsx";
import "./Search.css";

const start = () => new Worker(new URL("../worker.js", import.meta.url), { type: "module" });

// The worker is a file of its own that the browser asks for when the route is shown.
export default function Search() {
  const [found, find] = useState(null);
  useEffect(() => {
    const worker = start();
    worker.onmessage = ({ data }) => find(data);
    worker.onerror = () => find({ failed: "worker.js" });
    worker.postMessage("light");
    return () => worker.terminate();
  }, []);
  return (
    <Panel name="search" build="build-0" title="Search">
      {!found && <p data-waiting>Searching…</p>}
      {found?.failed && <p data-failed={found.failed}>Nothing can be searched.</p>}
      {found?.build && <p data-module="worker" data-build={found.build}>{found.ships.join(", ")}</p>}
    </Panel>
  );
}
