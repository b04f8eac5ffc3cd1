import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ComfyImages, type ComfyOptions } from '#engines/comfy/images.ts'
import { ComfyMusic, ComfyVideo } from '#engines/comfy/jobs.ts'
import { workflowBytes } from '#engines/comfy/server.ts'
import { ComfySpeech } from '#engines/comfy/speech.ts'
import { HttpUrl } from '../config-values.ts'
import { defineEngineKind, type EngineSurroundings, keptByOptions } from '../define-kind.ts'

const options = {
  /** `http://127.0.0.1:8188`. */
  baseUrl: HttpUrl,
  /** For a server behind a proxy that requires one. */
  apiKey: z.string().optional(),
  /** The file that ComfyUI exports for its API, with placeholders such as `{{prompt}}` in its strings. */
  workflow: z.string().min(1),
}

type Options = z.output<z.ZodObject<typeof options>>

/** A workflow on a ComfyUI server. */
export const comfyKind = defineEngineKind({
  name: 'comfyui',
  options,
  engines: {
    image: imagesOf('image'),
    inpaint: imagesOf('inpaint'),
    upscale: imagesOf('upscale'),
    background: imagesOf('background'),
    tts: (given, around) => keptAs('tts', given, around, comfy => new ComfySpeech(comfy)),
    music: (given, around) => {
      const workFolder = join(around.folder, 'music', around.upstream)
      return keptAs('music', given, around, comfy => new ComfyMusic({ ...comfy, workFolder }))
    },
    video: (given, around) => {
      const workFolder = join(around.folder, 'videos', around.upstream)
      return keptAs('video', given, around, comfy => new ComfyVideo({ ...comfy, workFolder }))
    },
  },
})

function imagesOf(type: string) {
  return (given: Options, around: EngineSurroundings): ComfyImages =>
    keptAs(type, given, around, comfy => new ComfyImages(comfy))
}

/** Across a reload an engine stays the same until its options or the content of its workflow file change. */
function keptAs<Engine>(
  type: string,
  given: Options,
  around: EngineSurroundings,
  make: (comfy: ComfyOptions) => Engine,
): Engine {
  const comfy = comfyOf(given, around)
  const { baseUrl, apiKey } = given
  const options = { baseUrl, apiKey, workflow: comfy.workflow }
  return keptByOptions(`comfyui ${type}`, options, around, () => make(comfy))
}

const comfyOf = (
  { baseUrl, apiKey, workflow }: Options,
  { log, model, upstream }: EngineSurroundings,
): ComfyOptions => ({
  baseUrl,
  workflow: readWorkflow(workflow),
  ...(apiKey === undefined ? {} : { apiKeyVariable: 'apiKey', environment: { apiKey } }),
  onProblem: ({ host, status, code }) => log.warn({ model, upstream, host, status, code }, 'An upstream failed.'),
})

function readWorkflow(path: string): unknown {
  try {
    const text = readFileSync(path, 'utf8')
    if (text.length <= workflowBytes) return JSON.parse(text)
  } catch (cause) {
    throw new Error(`The workflow ${path} cannot be read as JSON.`, { cause })
  }
  throw new Error(`The workflow ${path} has more than ${workflowBytes} characters.`)
}
