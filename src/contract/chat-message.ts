import { z } from 'zod'
import { listOf } from './bounded-list.ts'

/** Messages of a chat request (brief §4.3): text, pictures, `input_audio`, `video_url`, files. */

const cacheControl = {
  cache_control: z.looseObject({ type: z.literal('ephemeral'), ttl: z.string().optional() }).optional(),
}

export const TextPart = z.looseObject({ type: z.literal('text'), text: z.string().min(1), ...cacheControl })

const ImagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string().min(1) }),
  ...cacheControl,
})

const AudioPart = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({
    data: z.string().min(1),
    format: z.enum(['wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac', 'm4a', 'pcm16', 'pcm24']).optional(),
  }),
  ...cacheControl,
})

const VideoPart = z.looseObject({
  type: z.literal('video_url'),
  video_url: z.looseObject({ url: z.string().min(1) }),
  ...cacheControl,
})

const FilePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({ file_data: z.string().min(1), filename: z.string().optional() }),
  ...cacheControl,
})

export const ContentPart = z.discriminatedUnion('type', [TextPart, ImagePart, AudioPart, VideoPart, FilePart])
export type ContentPart = z.output<typeof ContentPart>

export const ToolCall = z.looseObject({
  id: z.string().optional(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
})

/** What a reasoning model wants back with the next message. */
export const ReasoningDetail = z.looseObject({
  type: z.string(),
  id: z.string().nullish(),
  text: z.string().nullish(),
  data: z.string().nullish(),
  format: z.string().nullish(),
  index: z.number().nullish(),
})

const UserMessage = z.looseObject({
  role: z.literal('user'),
  content: z.union([z.string(), listOf(ContentPart)]),
  name: z.string().nullish(),
})

const AssistantMessage = z
  .looseObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), listOf(TextPart)]).nullish(),
    name: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    reasoning_details: listOf(ReasoningDetail).nullish(),
    tool_calls: listOf(ToolCall).nullish(),
  })
  .refine(
    ({ content, tool_calls: calls }) => typeof content === 'string' || Array.isArray(content) || Array.isArray(calls),
    {
      path: ['content'],
      message: 'A message of the assistant has `content` or `tool_calls`',
    },
  )

const ToolMessage = z.looseObject({
  role: z.literal('tool'),
  content: z.string(),
  tool_call_id: z.string(),
  name: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: listOf(ToolCall).nullish(),
})

const systemMember = { content: z.union([z.string(), listOf(TextPart)]), name: z.string().nullish() }
const SystemMessage = z.looseObject({ role: z.literal('system'), ...systemMember })
const DeveloperMessage = z.looseObject({ role: z.literal('developer'), ...systemMember })

export const ChatMessage = z
  .discriminatedUnion('role', [UserMessage, AssistantMessage, ToolMessage, SystemMessage, DeveloperMessage])
  .meta({ id: 'ChatMessage' })
export type ChatMessage = z.output<typeof ChatMessage>
