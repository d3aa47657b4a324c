// Every file of the sources says the build that it is of, `build-0` here: which builds make up a page can be seen in it.

import { createRoot } from "react-dom/client";
import { App } from "./App.jsx";
import "./main.css";

createRoot(document.getElementById("root")).render(<App />);
