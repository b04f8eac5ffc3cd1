import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest, ContentPart } from '#contract/operations/chat.ts'
import { readImage } from '#engines/images/image-file.ts'
import type { TextModel } from '../../models/model.ts'

/** Media in a conversation: of a kind that the model takes, as bytes or at an address. Throws `invalidRequest`. */
export function checkChat(model: TextModel, request: ChatCompletionRequest): void {
  checkTools(model, request)
  let pictures = 0
  for (const [index, { content }] of request.messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [place, part] of content.entries()) {
      if (part.type === 'text') continue
      const path = ['messages', index, 'content', place]
      checkPart(model, part, path)
      if (part.type === 'image_url') pictures++
      if (pictures > 1 && !model.capabilities.supportsMultipleImages) {
        throw fieldError(path, `${model.id} takes one picture a request`)
      }
    }
  }
}

/** `web_search` is the service's own search; one that the engine would run and bill by itself has no price here. */
function checkTools({ id, capabilities }: TextModel, { tools }: ChatCompletionRequest): void {
  for (const [index, { type }] of (tools ?? []).entries()) {
    const isTaken =
      type === undefined ||
      type === 'function' ||
      (type === 'web_search' && capabilities.supportsWebSearch) ||
      (type === 'x_search' && capabilities.supportsXSearch)
    if (!isTaken) throw fieldError(['tools', index, 'type'], `${id} takes tools of the type function only`)
  }
}

function checkPart(model: TextModel, part: Exclude<ContentPart, { type: 'text' }>, path: (string | number)[]): void {
  const { supportsVision, supportsAudioInput, supportsVideoInput } = model.capabilities
  const taken = {
    image_url: supportsVision,
    input_audio: supportsAudioInput,
    video_url: supportsVideoInput,
    file: model.files !== undefined,
  }
  if (!taken[part.type]) {
    const types = ['text', ...Object.entries(taken).flatMap(([type, takes]) => (takes ? [type] : []))]
    throw fieldError([...path, 'type'], `${model.id} does not take ${part.type}; allowed values: ${types.join(', ')}`)
  }
  if (part.type === 'image_url' && !/^https?:/i.test(part.image_url.url)) {
    const read = readImage(part.image_url.url)
    if (!read.ok) throw fieldError([...path, 'image_url', 'url'], read.problem)
  }
  if (part.type === 'video_url' && !/^(https?:|data:video\/)/i.test(part.video_url.url)) {
    throw fieldError([...path, 'video_url', 'url'], 'must be an address or a data URL (data:video/mp4;base64,…)')
  }
  if (part.type === 'file' && !/^(https?:|data:[^,]{0,200};base64,)/i.test(part.file.file_data)) {
    throw fieldError([...path, 'file', 'file_data'], 'must be an address or a data URL (data:application/pdf;base64,…)')
  }
}
