// The frame of the application: its navigation, and the route of the address, which is loaded when it is first shown.

import { Component, lazy, Suspense, useEffect, useState } from "react";

const ROUTES = {
  berths: lazy(() => import("./routes/Berths.jsx")),
  charges: lazy(() => import("./routes/Charges.jsx")),
  chart: lazy(() => import("./routes/Chart.jsx")),
  contact: lazy(() => import("./routes/Contact.jsx")),
  crew: lazy(() => import("./routes/Crew.jsx")),
  report: lazy(() => import("./routes/Report.jsx")),
  search: lazy(() => import("./routes/Search.jsx")),
  tides: lazy(() => import("./routes/Tides.jsx")),
};

const route = () => location.hash.replace(/^#\//, "");

/** What is shown instead of a route that could not be loaded. */
class Boundary extends Component {
  state = { error: null };

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    if (this.state.error) return <p data-failed={String(this.state.error)}>This page could not be loaded.</p>;
    return this.props.children;
  }
}

export function App() {
  const [shown, show] = useState(route);
  useEffect(() => {
    const follow = () => show(route());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const Route = ROUTES[shown];
  return (
    <>
      <h1 data-module="app" data-build="build-0">Harbour office</h1>
      <nav>
        {Object.keys(ROUTES).map((name) => (
          <a key={name} href={`#/${name}`} aria-current={name === shown ? "page" : undefined}>{name}</a>
        ))}
      </nav>
      <main>
        {Route && (
          <Boundary key={shown}>
            <Suspense fallback={<p data-waiting>Loading…</p>}><Route /></Suspense>
          </Boundary>
        )}
      </main>
    </>
  );
}
