import "./Bars.css";

export default function Bars({ values }) {
  const most = Math.max(...values);
  return (
    <div className="bars" data-module="bars" data-build="build-0">
      {values.map((value, at) => <i key={at} style={{ width: `${(100 * value) / most}%` }}>{value}</i>)}
    </div>
  );
}
