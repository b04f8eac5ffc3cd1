/** What an assistant is shown beside a text. A model reads all of it, so it is small; larger work is a file. */
export type Shown =
  | { type: 'image' | 'audio' /** Base64. */; data: string; mimeType: string }
  | { type: 'text'; text: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }
