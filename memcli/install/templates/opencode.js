// mem: written by mem init --opencode; remove with mem init --opencode --remove
// Tells opencode what this repository's memory knows, and lets mem learn from ended sessions.
import { spawn } from "node:child_process"

const HARNESS = ["--harness", "opencode"]

function call(verb, payload) {
  return new Promise((resolve) => {
    const child = spawn("mem", ["hook", verb, ...HARNESS], { stdio: ["pipe", "pipe", "ignore"] })
    let out = ""
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (out += data))
    child.on("close", () => {
      try {
        resolve(JSON.parse(out).hookSpecificOutput ?? {})
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export const mem = async ({ directory }) => {
  const starts = new Map()
  const said = (id, more) => ({ session_id: id, cwd: directory, ...more })
  const told = async (verb, payload) => (await call(verb, payload)).additionalContext ?? ""
  const start = async (id, source) => starts.set(id, await told("session-start", said(id, { source })))
  const note = (message, text) => ({
    id: "prt_mem" + Date.now().toString(36), sessionID: message.sessionID, messageID: message.id,
    type: "text", text, synthetic: true,
  })
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (!starts.has(sessionID)) await start(sessionID, "startup")
      const prompt = parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")
      const text = await told("prompt", said(sessionID, { prompt }))
      if (text) parts.push(note(message, text))
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      if (starts.get(sessionID)) system.push(starts.get(sessionID))
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const input = { ...args, file_path: args.filePath ?? args.path }
      const answer = await call("pre-tool", said(sessionID, { tool_name: tool, tool_input: input }))
      if (answer.permissionDecision === "deny") throw new Error(answer.permissionDecisionReason)
      if (answer.additionalContext) starts.set(callID, answer.additionalContext)
    },
    "tool.execute.after": async ({ callID }, output) => {
      if (starts.has(callID)) output.output += "\n" + starts.get(callID)
      starts.delete(callID)
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.compacted") await start(id, "compact")
      if (event.type === "session.deleted") await call("session-end", said(id, { reason: "other" }))
      if (event.type === "session.idle") await call("pre-compact", said(id, { trigger: "idle" }))
    },
  }
}
