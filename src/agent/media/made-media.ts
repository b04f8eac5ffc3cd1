import { rm } from 'node:fs/promises'
import type { CallOptions, Client, ClientAnswer, OpenedAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { savePieces } from '#client/download/part-file.ts'
import { madeBytes } from '#client/limits.ts'
import { type CallOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Made, SavedFile } from '#toolkit/tool-context.ts'
import { askedModel } from '../prices/model-records.ts'
import { type Files, freePath, inFolder } from './files.ts'

/** What is stored for an answer with images or audio, without their bytes. */
export type MadeMedia = Omit<Made, 'paid'>

/** Whether the operation's result is files. */
export const makesMedia = (operation: Operation): boolean => isPaid(operation) && kindOf(operation) !== null

function kindOf({ answer: { bytes = [] } }: Operation): 'image' | 'audio' | null {
  const [first = ''] = [bytes].flat()
  if (first.startsWith('image/')) return 'image'
  return first.startsWith('audio/') ? 'audio' : null
}

/** Images of one answer; a request asks for four at most. */
const mostImages = 16

interface Making {
  client: Client
  files: Files
  /** Used in the names of the call's files. */
  callId: string
}

/** Sends a call that makes media and saves the results, so that only their paths are stored. */
export async function makeMedia<O extends Operation>(
  { client, files, callId }: Making,
  operation: O,
  call: CallOf<O>,
  options: CallOptions,
): Promise<ClientAnswer<O>> {
  // Checked first, so that nothing is bought that could not be saved.
  const folder = await files.outputFolder()
  const opened = await client.open(operation, call, options)
  const saved: SavedFile[] = []
  try {
    const { headers } = opened
    const model = headers.model ?? askedModel(call)
    const madeBy = { startedAtMs: client.clock.now(), model, id: callId }
    for (const pieces of mediaOf(opened)) {
      const file = await savePieces(pieces, {
        partPath: inFolder(folder, `.${callId}.part`),
        maximumBytes: madeBytes,
        pathOf: type => (type.startsWith(`${kindOf(operation)}/`) ? freePath(folder, madeBy, type) : null),
      })
      saved.push(file)
    }
    const made: MadeMedia = { files: saved, model: headers.model, isBlurred: headers.isBlurred }
    // An operation that returns bytes has no JSON, so our own record is stored.
    return { answer: made as never, headers }
  } catch (error) {
    if (opened.kind === 'bytes') opened.response.discard()
    // If one file cannot be saved, none is kept, so that a repeat returns all of them.
    await Promise.all(saved.map(({ path }) => rm(path, { force: true })))
    throw asUnsaved(error, options.signal)
  }
}

/** The result has been charged even if it cannot be saved: the same call must not buy it again automatically. */
function asUnsaved(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof ClientError || signal?.aborted) return error
  return new ClientError('unsaved', 'The result could not be saved.', { wasSent: true, cause: error })
}

function mediaOf(opened: OpenedAnswer<Operation>): AsyncIterable<Uint8Array>[] {
  if (opened.kind === 'bytes') return [opened.response.body]
  const { images } = opened.answer as { images?: unknown }
  if (!Array.isArray(images) || images.length === 0 || images.length > mostImages)
    throw new ClientError('unreadable', 'The answer does not match the API description.', { wasSent: true })
  return images.map(base64 => pieceOf(String(base64)))
}

async function* pieceOf(base64: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(base64, 'base64')
}
