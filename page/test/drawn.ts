import { vi } from "vitest";

/** The document with the page drawn in it: what a browser has once it has run the page's script on `data`. */
export async function drawn(data: object): Promise<HTMLElement> {
  document.body.innerHTML = '<div id="page"></div><script id="genkai-data" type="application/json"></script>';
  const text = document.getElementById("genkai-data");
  if (text) text.textContent = JSON.stringify(data);
  vi.resetModules();
  await import("../src/main");
  return document.body;
}
