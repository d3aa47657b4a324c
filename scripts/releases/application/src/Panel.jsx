// The part that all routes share, and that is in a chunk of its own for it.

export function Panel({ name, build, title, children }) {
  return (
    <section className={name} data-module={name} data-build={build}>
      <h2 data-module="panel" data-build="build-0">{title}</h2>
      {children}
    </section>
  );
}

export function Table({ head, rows }) {
  return (
    <table data-module="table" data-build="build-0">
      <thead><tr>{head.map((text) => <th key={text}>{text}</th>)}</tr></thead>
      <tbody>{rows.map((row) => <tr key={row[0]}>{row.map((text, at) => <td key={at}>{text}</td>)}</tr>)}</tbody>
    </table>
  );
}
