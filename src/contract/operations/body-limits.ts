import { bodyBytes, bodyValues, jsonDepth } from '../limits.ts'
import { bodyTypesOf, type Operation } from './operation.ts'

const mib = 1024 * 1024

/** Callers without credentials, and key management, may send only small bodies. */
export function mostBodyBytes(operation: Operation): number {
  if (!operation.auth.length || operation.adminKey) return bodyBytes.small
  if (operation.limit === 'video.queue' || operation.path === '/video/quote') return bodyBytes.video
  if (bodyTypesOf(operation).includes('multipart')) return bodyBytes.form
  return bodyBytes.json
}

/** Only embeddings have long lists, of a model's own tokens. */
export const mostBodyValues = ({ limit }: Pick<Operation, 'limit'>) => ({
  values: limit === 'embedding' ? bodyValues.embeddings : bodyValues.usual,
  members: bodyValues.usual,
})

/** The limits of a body, in a sentence for its callers. */
export function describeBodyLimits(operation: Operation): string {
  const bytes = mostBodyBytes(operation)
  const size = bytes < mib ? `${bytes / 1024} KiB` : `${bytes / mib} MiB`
  if (!bodyTypesOf(operation).includes('json')) return `At most ${size}.`
  const values = mostBodyValues(operation).values.toLocaleString('en-US')
  return `At most ${size}. JSON may have ${values} values (members and items at all levels) and ${jsonDepth} levels.`
}
