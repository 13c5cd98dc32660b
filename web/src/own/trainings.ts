/** Trainings of this server: see /api/trainings in the OpenAPI document. */

import { ask, getJson } from "../data/server";
import { here } from "../state.svelte";

export const STATES = [
  "new", "checking", "refused", "checked", "training", "stopped", "failed", "finished",
] as const;
export type State = (typeof STATES)[number];
export const SIZES = ["auto", "tiny", "small", "base"] as const;
export type Size = (typeof SIZES)[number];
export type Part = "source" | "target" | "pairs";

export interface Finding {
  kind: string;
  count: number;
  share: number;
  lines: number[];
  is_serious: boolean;
  examples: { line: number; source: string; target: string }[];
}

export interface Training {
  id: string;
  name: string;
  state: State;
  can_resume: boolean;
  problem: string; // the sentence with which it failed
  source: string;
  target: string;
  files: Partial<Record<Part, { name: string; bytes: number; lines: number }>>;
  report: { pairs: number; findings: Finding[] } | null;
  kept: number | null; // pairs
  minutes: number | null;
  has_curves: boolean; // /api/runs has them
  steps: number | null; // updates, as planned by now
  left: number | null; // seconds
  model: string | null; // its id, once there is one
  bytes: number;
}

export interface Trainings {
  trainings: Training[];
  limits: { minutes: number; upload: number; disk: number };
}

async function send(path: string, method: string, body?: BodyInit, type = ""): Promise<Training> {
  const headers: Record<string, string> = { "Accept-Language": here.language };
  if (type) headers["Content-Type"] = type;
  const answer = await ask(`trainings${path}`, { method, headers, ...(body ? { body } : {}) });
  return (await answer.json()) as Training;
}

const sendBody = (path: string, body: object) => send(path, "POST", JSON.stringify(body), "application/json");
const at = (id: string) => `/${encodeURIComponent(id)}`;

export const listTrainings = (): Promise<Trainings> => getJson("trainings");
export const create = (name: string, source: string, target: string) => sendBody("", { name, source, target });
export const upload = (id: string, part: Part, file: File) =>
  send(`${at(id)}/${part}?${new URLSearchParams({ name: file.name })}`, "PUT", file, "application/octet-stream");
export const check = (id: string) => send(`${at(id)}/check`, "POST");
export const start = (id: string, how: { minutes: number; size: Size; mended: boolean }) => sendBody(`${at(id)}/start`, how);
export const stop = (id: string) => send(`${at(id)}/stop`, "POST");
export const resume = (id: string) => send(`${at(id)}/resume`, "POST");
export const remove = (id: string) => send(at(id), "DELETE");
export const fileOf = (id: string) => `api/trainings${at(id)}/file`;

/** 75 as "1:15". */
export function tellTime(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
