const BUILD = "build-0";
const SHIPS = ["Northern Light", "Gudrun", "Marie", "Lightning"];

onmessage = ({ data }) => {
  const ships = SHIPS.filter((name) => name.toLowerCase().includes(data));
  postMessage({ build: BUILD, ships });
};
