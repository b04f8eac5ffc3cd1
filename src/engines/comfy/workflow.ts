import { randomInt } from 'node:crypto'
import { isObject } from '#contract/wire/json.ts'

/** One for each reference image of a request, in order. */
export const referencePlaces = [
  'reference_image',
  'reference_image_2',
  'reference_image_3',
  'reference_image_4',
  'reference_image_5',
  'reference_image_6',
  'reference_image_7',
  'reference_image_8',
  'reference_image_9',
] as const

/** The placeholders that a workflow may use as `{{name}}`. */
export const placeholders = [
  'prompt',
  'negative_prompt',
  'width',
  'height',
  'count',
  'seed',
  'steps',
  'cfg_scale',
  'style',
  'model',
  'image',
  'image_2',
  'image_3',
  'end_image',
  'aspect_ratio',
  'resolution',
  'quality',
  'scale',
  'creativity',
  'replication',
  'seconds',
  'audio',
  'video',
  'with_audio',
  'lyrics',
  'instrumental',
  'voice',
  'language',
  'speed',
  'temperature',
  'top_p',
  ...referencePlaces,
] as const
export type Placeholder = (typeof placeholders)[number]

/**
 * Values of a request. `with_audio` is whether the video should have audio, and `instrumental` whether music has no
 * vocals; both are booleans for switch nodes.
 */
export type WorkflowValues = Readonly<Partial<Record<Placeholder, string | number | boolean>>>

/** Returns a seed within the range that all samplers accept. */
export const randomSeed = (): number => randomInt(2 ** 32 - 1)

/** `{{steps}}`, or with a default for requests without a value: `{{steps|20}}`. */
const pattern = /\{\{\s*(\w+)\s*(?:\|([^{}]*))?\}\}/g

/** An input file of a workflow. */
export interface UploadedFile {
  /** Without a dot. */
  extension: string
  mimeType: string
  bytes: Buffer
}

/**
 * A workflow as ComfyUI exports it for its API, with placeholders in its strings. Values replace members and never the
 * workflow's own text, so that no prompt can become a node.
 */
export class Workflow {
  readonly #nodes: Record<string, unknown>
  readonly names: ReadonlySet<Placeholder>
  /** Placeholders without a default. */
  readonly needed: ReadonlySet<Placeholder>

  /** Throws a sentence if it is not a workflow, or has an unknown placeholder. */
  constructor(nodes: unknown) {
    if (
      !isObject(nodes) ||
      !Object.values(nodes).every(node => isObject(node) && typeof node.class_type === 'string')
    ) {
      throw new Error('This is not a ComfyUI workflow in API format: export it with "Export (API)".')
    }
    this.#nodes = nodes
    const found = [...JSON.stringify(nodes).matchAll(pattern)]
    this.names = new Set(found.map(([, name = '']) => knownName(name)))
    this.needed = new Set(found.flatMap(([, name = '', otherwise]) => (otherwise === undefined ? knownName(name) : [])))
  }

  /** Returns the workflow for one request. Throws if a value that it needs is missing. */
  filled(values: WorkflowValues): Record<string, unknown> {
    return filledValue(this.#nodes, values) as Record<string, unknown>
  }
}

function knownName(name: string): Placeholder {
  const known = placeholders.find(each => each === name)
  if (known) return known
  throw new Error(
    `The workflow has an unknown placeholder {{${name}}}; the placeholders are ${placeholders.join(', ')}.`,
  )
}

function filledValue(value: unknown, values: WorkflowValues): unknown {
  if (typeof value === 'string') return filledText(value, values)
  if (Array.isArray(value)) return value.map(each => filledValue(each, values))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filledValue(each, values)]))
}

/**
 * A text that is only a placeholder becomes the value, with its type; inside a longer text the value is written as
 * text.
 */
function filledText(text: string, values: WorkflowValues): unknown {
  const matches = [...text.matchAll(pattern)]
  const [only] = matches
  if (only && only[0] === text) return chosenValue(only, values)
  return text.replaceAll(pattern, (...match) => String(chosenValue(match as unknown as RegExpMatchArray, values)))
}

function chosenValue([, name, otherwise]: RegExpMatchArray, values: WorkflowValues): string | number | boolean {
  const value = values[name as Placeholder]
  if (value !== undefined) return value
  if (otherwise === undefined) throw new Error(`The workflow needs {{${name}}}, but the request does not have it.`)
  const number = Number(otherwise)
  return otherwise.trim() !== '' && Number.isFinite(number) ? number : otherwise
}
