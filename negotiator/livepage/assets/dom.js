// Elements are made of texts, never of markup: names of jobs and users may hold anything.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// make returns an element; properties that begin with "on" are listeners.
export const make = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

// draw returns an element of SVG.
export const draw = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

// Name is a name that may hold anything: cut if it is very long, and its direction is its own.
export function name(text, most = 48) {
  const letters = [...String(text ?? "")], cut = letters.length > most;
  return make("bdi", { class: "name", title: cut ? letters.slice(0, 2000).join("") : undefined },
    cut ? letters.slice(0, most - 1).join("") + "…" : letters.join(""));
}

// jobLink leads to a job's own page.
export const jobHash = (job) => "#/job/" + encodeURIComponent(wellFormed(job));
export const jobLink = (job, most) => make("a", { href: jobHash(job) }, name(job, most));

// encodeURIComponent refuses half a pair of surrogates.
export const wellFormed = (text) => String(text).toWellFormed?.() ?? String(text);

// partName is a negotiator's name without its host, and links to its page if it has one.
export const partName = (part) => {
  const short = name(part.negotiator.split("@")[0] || part.negotiator, 24);
  return part.page ? make("a", { href: part.page, rel: "noreferrer" }, short) : short;
};

// prose is a text that others wrote, with its lines as they are; cut if it is very long.
export function prose(text, most = 400) {
  const all = String(text ?? ""), cut = all.length > most;
  return make("span", { dir: "auto", class: "prose", title: cut ? wellFormed(all.slice(0, 4000)) : undefined }, cut ? wellFormed(all.slice(0, most)) + "…" : all);
}

// An empty place says what will be there.
export const empty = (title, text) => make("div", { class: "empty" }, make("p", { class: "big" }, title), text && make("p", null, text));

// figures are numbers with what they are, large.
export function figures(all) {
  return make("ul", { class: "facts" }, all.filter(Boolean).map(([value, label, kind]) =>
    make("li", { class: kind }, make("b", null, value), make("span", null, label))));
}

// card is a part of a view with a title.
export const card = (title, ...children) => make("section", { class: "card" }, title && make("h2", null, title), ...children);

// definitions are pairs of a term and what it is; pairs without it are left out.
export function definitions(pairs) {
  return make("dl", { class: "run" }, pairs.filter((pair) => pair && pair[1] !== undefined && pair[1] !== null && pair[1] !== "")
    .flatMap(([term, what]) => [make("dt", null, term), make("dd", null, what)]));
}

// replace puts other children in the place of an element's own.
export const replace = (element,
  ...children) => element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
