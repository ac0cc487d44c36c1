"""Style sheet of the certificate page, for light and dark screens and for print."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --card: #f7f8f9; --ink: #1c1f23; --soft: #5b626b; --line: #dde1e5;
  --good: #14724f; --good-tint: #e6f3ee; --bad: #b3261e; --bad-tint: #fbebe9; --absent: #d3d7dc;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e7eaed; --soft: #a0a8b1; --line: #333a41;
    --good: #57c79d; --good-tint: #17302a; --bad: #ff8a80; --bad-tint: #3a1f1e; --absent: #434b53;
  }
  svg polyline, svg circle { filter: brightness(1.5); }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 980px; margin: 0 auto; padding: 40px 28px 56px; }
h1 { font-size: 15px; font-weight: 600; letter-spacing: .02em; color: var(--soft); margin: 0 0 14px; }
h1 b { color: var(--ink); font-weight: 600; overflow-wrap: anywhere; }
h2 { font-size: 20px; line-height: 1.3; margin: 44px 0 14px; }
h3 { font-size: 17px; margin: 0; display: flex; gap: 10px; align-items: center; }
p { margin: 0 0 10px; }
small, .soft { color: var(--soft); font-size: 14px; }
.verdict { border-radius: 10px; padding: 22px 26px; border-left: 6px solid; }
.verdict.good { background: var(--good-tint); border-color: var(--good); }
.verdict.bad { background: var(--bad-tint); border-color: var(--bad); }
.verdict .word { font-size: 34px; line-height: 1.2; font-weight: 700; margin-bottom: 8px; }
.verdict.good .word { color: var(--good); }
.verdict.bad .word { color: var(--bad); }
.verdict p { font-size: 17px; text-wrap: pretty; }
.verdict p:last-child { margin-bottom: 0; }
.pill { font-size: 13px; font-weight: 600; border-radius: 999px; padding: 1px 10px; white-space: nowrap; }
.pill.good { color: var(--good); background: var(--good-tint); }
.pill.bad { color: var(--bad); background: var(--bad-tint); }
.wide { overflow-x: auto; }
.wide td { white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-size: 13px; line-height: 1.3; font-weight: 600; color: var(--soft); }
thead th { vertical-align: bottom; }
th, td { padding: 9px 12px 9px 0; border-bottom: 1px solid var(--line); }
td { vertical-align: middle; }
td small { display: block; line-height: 1.35; }
td.name { white-space: nowrap; }
td.name img { margin-right: 12px; }
.thumb {
  width: 56px; height: 56px; object-fit: contain; vertical-align: middle; image-rendering: pixelated;
  background: #808080; border: 3px solid; border-radius: 6px;
}
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 22px 14px;
  margin-bottom: 18px; break-inside: avoid;
}
.card table { margin: 10px 0 6px; font-size: 15px; }
.card tr:last-child td { border-bottom: 0; }
.card td { vertical-align: top; padding: 7px 14px 7px 0; }
.card td.number { white-space: nowrap; min-width: 100px; }
.mark { font-weight: 700; white-space: nowrap; min-width: 104px; }
.mark.good { color: var(--good); }
.mark.bad { color: var(--bad); }
.hypotheses td { vertical-align: top; }
.hypotheses td:first-child, .hypotheses td:last-child { width: 36%; }
.hypotheses p { margin: 0 0 6px; }
.figure { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 14px; }
.figure img { display: block; width: 100%; height: auto; }
svg { display: block; width: 100%; height: auto; margin-top: 6px; }
svg text { font: 11.5px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--soft); }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .limit { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 3; }
svg .certified { fill: var(--good); }
svg .refused { fill: var(--bad); }
svg .absent { fill: var(--absent); }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13.5px; color: var(--soft); margin: 2px 0 4px; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; }
.key i.certified { background: var(--good); }
.key i.refused { background: var(--bad); }
.key i.absent { background: var(--absent); }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 8px 30px; }
.columns { margin-top: 22px; }
.columns h3 { margin-bottom: 6px; }
ul { margin: 0 0 10px; padding-left: 20px; }
li { margin-bottom: 6px; }
footer { margin-top: 40px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--soft); }
footer { font-size: 13.5px; }
@media (max-width: 640px) {
  main { padding: 28px 16px 40px; }
  .card { padding: 16px 16px 12px; }
  .card tr { display: grid; grid-template-columns: auto 1fr; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .card td { border-bottom: 0; padding: 0 14px 2px 0; }
  .card td:last-child { grid-column: 1 / -1; }
  .hypotheses thead { display: none; }
  .hypotheses table, .hypotheses tbody { display: block; }
  .hypotheses tr { display: block; padding: 10px 0; border-bottom: 1px solid var(--line); }
  .hypotheses td, .hypotheses td:first-child, .hypotheses td:last-child {
    display: grid; grid-template-columns: 132px 1fr; width: auto; padding: 2px 0; border-bottom: 0;
  }
  .hypotheses td::before { content: attr(data-heading); grid-row: 1 / span 4; color: var(--soft); font-size: 14px; }
  .hypotheses td > * { grid-column: 2; justify-self: start; }
  .columns { grid-template-columns: 1fr; }
}
@media print {
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; zoom: .74; }
  h2 { break-after: avoid; }
  .verdict, .figure, tr { break-inside: avoid; }
}
"""
