// Live: what the service is doing, second by second, from its stream of figures.

import { ask, request } from "./api.js";
import { h, show, table } from "./dom.js";
import { ago, many, short, sparkline } from "./figures.js";
import { requestsBox } from "./requests.js";

const SHOWN = 120;
const LONGEST = 15_000;
const SLOW_MS = 100, FEW = 100; // below so many requests a share of them says nothing
const NONE = "no requests";
const TILES = [
  { column: "requests", of: "requests_per_second", name: "Requests", unit: "/s", hint: "Those of this page count, too" },
  { column: "p50_ms", name: "Latency, p50", unit: "ms", none: NONE, hint: "Half of the requests took less" },
  { column: "p99_ms", name: "Latency, p99", unit: "ms", none: NONE, hint: "99 of 100 requests took less" },
  { column: "errors", of: "errors_per_second", name: "Errors (5xx)", unit: "/s", hint: "The service failed; what was asked wrongly is a 4xx" },
  { column: "events", of: "events_per_second", name: "Events", unit: "/s", hint: "Who took what, sent to /v1/events" },
  { column: "flush_p99_ms", name: "Flush, p99", unit: "ms", none: "no events yet", hint: "Until events were on the disk: 99 of 100 were quicker" },
];

export function mount(root, { announce }) {
  const state = h("p.live-state");
  const tiles = TILES.map(tile);
  const [models, tasks, slow] = ["Generations", "Tasks", "Slow requests"].map((label) => h("section.card", { aria: { label } }));
  const facts = h("p.quiet");
  const history = new Map(); // second -> {requests, p50_ms, ...}
  const drawn = new Map(); // what each part was last drawn from
  let said = "", stream = null;

  show(root, h("h1.hidden", "Live"), h("div.live",
    state, h("div.tiles", tiles.map((one) => one.element)),
    h("div.columns.even", models, tasks), slow, facts,
    requestsBox([request("/v1/stats"), request("/v1/live", { seconds: 1 })])));

  /** Draw a part only when what it shows has changed: focus and selection stay. */
  function redraw(part, shown, draw) {
    const text = JSON.stringify(shown);
    if (drawn.get(part) === text) return;
    drawn.set(part, text);
    show(part, draw(shown));
  }

  function tell({ level, text, spoken }) {
    state.className = `live-state ${level}`;
    show(state, text);
    if (spoken !== said) announce(spoken);
    said = spoken;
  }

  function take(stats) {
    const { from, ...columns } = stats.recent.history;
    for (let at = 0; at < columns.requests.length; at++) {
      history.set(from + at, Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[at]])));
    }
    const last = from + columns.requests.length - 1;
    for (const second of history.keys()) if (second <= last - SHOWN) history.delete(second);
    const seconds = Array.from({ length: SHOWN }, (_, at) => history.get(last - SHOWN + 1 + at));
    for (const one of tiles) one.draw(stats.recent, seconds);
    tell(health(stats));
    redraw(models, stats.models, drawModels);
    redraw(tasks, stats.tasks, drawTasks);
    redraw(slow, [stats.recent.slow, stats.recent.slow_ms, Math.floor(Date.now() / 10_000)], drawSlow);
    show(facts, inWords(stats));
  }

  function start() {
    stream?.stop();
    stream = document.hidden ? null : follow("/v1/live", take, (seconds, why) =>
      tell({ level: "bad", text: `${why} Trying again in ${seconds} s.`, spoken: "The service does not answer." }));
  }

  document.addEventListener("visibilitychange", start);
  start();
  return {
    update() {},
    unmount() {
      document.removeEventListener("visibilitychange", start);
      stream?.stop();
    },
  };
}

/** Server-sent events by fetch, for EventSource cannot send a key; connects anew until it is stopped. */
export function follow(path, take, onTrouble) {
  const ending = new AbortController();
  let pause = 1000;
  async function read() {
    const reply = await ask(request(path), { bytes: true, tries: 1, signal: ending.signal });
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let waiting = ""; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (waiting + value).split("\n\n");
      waiting = events.pop();
      for (const event of events) {
        const data = event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
        if (data.length) take(JSON.parse(data.join("\n")));
      }
      pause = 1000;
    }
  }
  (async () => {
    while (!ending.signal.aborted) {
      let why = "The stream has ended.";
      try {
        await read();
      } catch (error) {
        if (ending.signal.aborted) return;
        why = error.status === undefined ? "The service went away." : error.message;
      }
      onTrouble(Math.round(pause / 1000), why);
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(2 * pause, LONGEST);
    }
  })();
  return { stop: () => ending.abort() };
}

/** How it is: a level, a line, and what is said aloud when it changes. */
export function health({ recent, tasks, seq, log_seq }) {
  const wrong = [], odd = [];
  if (recent.errors_per_second > 0) wrong.push(`${short(recent.errors_per_second)} requests a second fail (status 5xx)`);
  if (log_seq - seq > 1000) wrong.push(`this worker is ${short(log_seq - seq)} records behind the log`);
  const requests = Math.round(recent.requests_per_second * recent.seconds), few = requests < FEW;
  if (!few && recent.p99_ms > SLOW_MS) odd.push(`1 % of the requests take longer than ${short(recent.p99_ms)} ms`);
  const newest = tasks[0];
  if (newest?.state === "failed") odd.push(`the last ${newest.kind} failed: ${newest.detail}`);
  if (newest?.gate && !newest.gate.passed) odd.push(newest.detail);
  const level = wrong.length ? "bad" : odd.length ? "warn" : "good";
  if (level !== "good") {
    const lead = wrong.length ? "Not well: " : "Look at this: ";
    return { level, text: `${lead}${[...wrong, ...odd].join("; ")}.`, spoken: wrong.length ? "The service is not well." : "The service wants a look." };
  }
  const busy = !requests ? "nobody asks" : few ? `${many(requests, "request")}, the slowest ${short(recent.p99_ms)} ms`
    : `${short(recent.requests_per_second)} requests a second, 99 % of them within ${short(recent.p99_ms)} ms`;
  return { level, text: `Healthy: no errors in the last ${recent.seconds} seconds; ${busy}.`, spoken: "The service is healthy." };
}

function inWords(stats) {
  const { recent } = stats;
  const statuses = Object.entries(recent.by_status).map(([kind, rate]) => `${kind} ${short(rate)}/s`).join(", ");
  return [
    `Requests and times: of ${recent.of}, with those of this page${recent.workers > 1 ? ` (${recent.workers})` : ""}, over ${recent.seconds} s${statuses && `: ${statuses}`}. `,
    `The log has ${short(stats.events)} events. Worker ${stats.worker}: ${short(stats.rss_mb ?? stats.peak_mb)} MB (at most ${short(Math.max(stats.peak_mb, stats.rss_mb ?? 0))}), running for ${short(Math.round(stats.seconds / 60))} min.`,
  ];
}

function tile({ column, of = column, name, unit, none, hint }) {
  const number = h("p"), line = h("div");
  return {
    element: h("div.card.tile", { title: hint }, h("span.quiet", name), number, line),
    draw(recent, seconds) {
      const values = seconds.map((second) => second?.[column] ?? null);
      const high = Math.max(...values.map((value) => value ?? 0));
      show(number, recent[of] === null ? h("span.quiet", none) : [h("b", short(recent[of])), h("span.quiet", ` ${unit}`)]);
      show(line, sparkline(values, `${name} in the last two minutes, at most ${short(high)} ${unit}`));
      line.title = `Last two minutes; at most ${short(high)} ${unit}`;
    },
  };
}

function drawModels(models) {
  return [h("h2", "Generations"), h("p.quiet", "A generation is one version of a model: the next update or refit makes another."), Object.entries(models).map(([name, model]) => [
    h("p", h("b", name), `: ${model.kind}, generation ${model.generation} (${model.source})`,
      model.since && `, served since ${clock(model.since)}`,
      h("span.quiet", ` · ${short(model.users)} users, ${short(model.items)} items`,
        model.behind ? ` · ${short(model.behind)} records are newer than it and folded in` : "")),
    model.race && raceTable(name, model.race),
  ])];
}

function raceTable(name, race) {
  const metric = Object.keys(race.rows[0] ?? {}).find((column) => column.startsWith("validation_"));
  if (!metric) return null;
  const rows = [...race.rows].sort((one, other) => other[metric] - one[metric]);
  return h("details", h("summary", `The race that chose it: ${race.why}`),
    table(["Tried", metric.slice(11), "Bytes an item"], rows.map((row) => [
      [row.label, row.note && h("span.quiet", ` ${row.note}`)], row.note ? "failed" : row[metric].toFixed(4), short(row.bytes_per_item)])));
}

function drawTasks(tasks) {
  if (!tasks.length) return [h("h2", "Tasks"), h("p.quiet", "No update (new events go into the model) and no refit (it is learned anew) so far.")];
  return [h("h2", "Tasks"), tasks.map((task) => {
    const facts = Object.entries(task.facts ?? {}).map(([name, value]) => `${name} ${typeof value === "number" ? short(value) : value}`).join(", ");
    return h("div.task",
      h("p", h("b", `${task.kind} of ${task.name}`), `: ${task.state}`, task.ended ? `, ${clock(task.ended)}` : task.started && `, since ${clock(task.started)}`,
        task.detail && h("span.quiet", ` · ${task.detail}`), facts && h("span.quiet", ` · ${facts}`)),
      task.state === "running" && h("progress", { max: 1, value: task.progress ?? undefined, aria: { label: `${task.kind} of ${task.name}` } }),
      task.gate && h("p", gateInWords(task.gate)),
      task.notes?.length > 0 && h("details", { open: task.state === "running" }, h("summary", "What it said"), h("ol.notes", task.notes.map((note) => h("li", note)))));
  })];
}

function gateInWords(gate) {
  const figures = gate["served_ndcg@10"] === undefined ? "" : ` NDCG@10 of ${short(gate.users)} users: ${gate["made_ndcg@10"].toFixed(4)}, the served one has ${gate["served_ndcg@10"].toFixed(4)}.`;
  return `The gate: ${gate.passed ? "passed" : "not passed"} (${gate.reason}).${figures}`;
}

function drawSlow([requests, ms]) {
  if (!requests.length) return [h("h2", "Slow requests"), h("p.quiet", `None took longer than ${ms} ms.`)];
  return [h("h2", `The last requests of more than ${ms} ms`), table(["Route", "Status", "Took", "When"], requests.map((one) => [
    h("span.mono", `${one.method} ${one.route}`), one.status, short(one.ms, "ms"), h("span", { title: one.at }, ago(one.at))]))];
}

/** The time here, with the zone; the day where it is not today. */
function clock(moment) {
  const when = new Date(moment), [day, ...time] = when.toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "long" }).split(" ");
  return when.toDateString() === new Date().toDateString() ? time.join(" ") : `${day} ${time.join(" ")}`;
}
