// Writes the types of the page's data from their JSON Schema (2020-12), as far as schemars uses it.
import { readFileSync } from "node:fs";

const schema = JSON.parse(readFileSync(process.argv[2], "utf8"));

/** The type that a schema describes. */
function type(of) {
  if (of === true) return "unknown";
  const parts = [];
  if (of.$ref) parts.push(of.$ref.replace("#/$defs/", ""));
  const any = of.oneOf ?? of.anyOf;
  if (any) parts.push(union(any.map(type)));
  if (of.properties) parts.push(object(of));
  if (parts.length > 0) return parts.length === 1 ? parts[0] : parts.map((part) => (part.includes(" | ") ? `(${part})` : part)).join(" & ");
  if (of.const !== undefined) return JSON.stringify(of.const);
  if (of.enum) return union(of.enum.map((one) => JSON.stringify(one)));
  if (Array.isArray(of.type)) return union(of.type.map((one) => type({ ...of, type: one })));
  return plain(of);
}

function plain(of) {
  switch (of.type) {
    case "array":
      return of.prefixItems ? `[${of.prefixItems.map(type).join(", ")}]` : list(type(of.items));
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return of.type;
    default:
      throw new Error(`no type for ${JSON.stringify(of)}`);
  }
}

function list(item) {
  return /[|&]/.test(item) ? `(${item})[]` : `${item}[]`;
}

function union(all) {
  return [...new Set(all)].join(" | ");
}

function object(of) {
  const required = new Set(of.required ?? []);
  const fields = Object.entries(of.properties).map(([name, value]) => `${name}${required.has(name) ? "" : "?"}: ${type(value)}`);
  return `{ ${fields.join("; ")} }`;
}

function named(name, of) {
  const words = of.description ? `/** ${of.description.replaceAll("\n", " ")} */\n` : "";
  return `${words}export type ${name} = ${type(of)};\n`;
}

const defs = Object.entries(schema.$defs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
const all = [[schema.title, schema], ...defs].map(([name, of]) => named(name, of));
process.stdout.write(`// Made from schemas/page.schema.json by \`make schemas\`. Do not edit.\n\n${all.join("\n")}`);
