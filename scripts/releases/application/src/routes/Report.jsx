// A route that itself loads a part late: a chunk that only another chunk names.

import { lazy, Suspense } from "react";
import { Panel } from "../Panel.jsx";
import "./Report.css";

const Bars = lazy(() => import("../Bars.jsx"));

export default function Report() {
  return (
    <Panel name="report" build="build-0" title="Report">
      <Suspense fallback={<p data-waiting>Drawing…</p>}><Bars values={[3, 5, 8, 13, 9, 4]} /></Suspense>
    </Panel>
  );
}
