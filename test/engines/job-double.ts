import type { IncomingMessage, ServerResponse } from 'node:http'
import { localServer } from '../local-server.ts'

export interface SeenRequest {
  line: string
  headers: IncomingMessage['headers']
  text: string
}

export type Said = (response: ServerResponse) => void

/** A real server on loopback that answers each line (`POST /v1/videos`) as a test says at the time; 404 for any other. */
export async function jobDouble() {
  const seen: SeenRequest[] = []
  const answers = new Map<string, Said>()
  const server = await localServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const line = `${request.method} ${request.url}`
    seen.push({ line, headers: request.headers, text: Buffer.concat(pieces).toString('latin1') })
    const said = answers.get(line) ?? json({ error: 'nothing' }, 404)
    said(response)
  })
  return {
    origin: server.url,
    seen,
    says: (line: string, said: Said) => void answers.set(line, said),
    lines: () => seen.map(({ line }) => line),
    close: server.close,
  }
}
export type JobDouble = Awaited<ReturnType<typeof jobDouble>>

export const json =
  (body: unknown, status = 200): Said =>
  response => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

export const video =
  (bytes: Buffer): Said =>
  response => {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes.length }).end(bytes)
  }

/** Hears the request, and says nothing. */
export const cutOff: Said = response => void response.destroy()

export const halfVideo: Said = response => {
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': '100' })
  response.write('half', () => response.destroy())
}
