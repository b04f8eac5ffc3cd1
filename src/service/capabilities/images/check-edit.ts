import { fieldError } from '#contract/errors/issues.ts'
import type { EditImageRequest } from '#contract/operations/images.ts'
import type { EditRequest } from '#engines/ports/image-engines.ts'
import type { EditModel } from '../../models/picture-model.ts'
import { qualitiesOf } from '../../models/picture-record.ts'

type EditFields = Pick<EditImageRequest, 'prompt' | 'aspect_ratio' | 'resolution' | 'quality' | 'output_format'>

/** What an engine is asked for, beside its pictures. Throws `invalidRequest` with what the model's record allows. */
export function checkedEdit(model: EditModel, body: EditFields): Omit<EditRequest, 'pictures'> {
  const { prompt, aspect_ratio: ratio, resolution, quality } = body
  if (prompt.length > model.promptCharacters) {
    const problem = `has ${prompt.length} characters; ${model.id} takes ${model.promptCharacters} at most`
    throw fieldError(['prompt'], problem)
  }
  const resolutions = Object.keys(model.price.resolutions ?? {})
  // `auto` is the contract's word for the picture's own.
  const aspectRatio = ratio === 'auto' ? undefined : ratio
  requireOne(model, 'aspect_ratio', aspectRatio, model.aspectRatios)
  requireOne(model, 'resolution', resolution, resolutions)
  requireOne(model, 'quality', quality, qualitiesOf(model.price))
  return {
    prompt,
    format: formatOf(model, body.output_format),
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(resolution === undefined ? {} : { resolution }),
    ...(quality === undefined ? {} : { quality }),
  }
}

function requireOne({ id }: EditModel, field: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return
  if (allowed.length === 0) throw fieldError([field], `${id} does not take ${field}; leave it out`)
  throw fieldError([field], `is none of ${id}; allowed values: ${allowed.join(', ')}`)
}

function formatOf({ id, formats }: EditModel, asked: EditFields['output_format']): EditRequest['format'] {
  const format = asked === 'jpg' ? 'jpeg' : asked
  if (format === undefined) return formats[0]
  if (formats.includes(format)) return format
  throw fieldError(['output_format'], `${id} makes no ${format}; allowed values: ${formats.join(', ')}`)
}
