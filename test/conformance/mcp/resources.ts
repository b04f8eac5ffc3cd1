import { defineResource, type Resource } from '#toolkit/define.ts'

const common = { title: 'Fixture', description: 'What the suite expects.', needs: [], keepMs: 60_000 }

const text = (name: string, uri: string): Resource =>
  defineResource({
    ...common,
    name,
    uri,
    mimeType: 'text/plain',
    read: async () => ({ text: `This is the content of ${name}.` }),
  })

export const resources: readonly Resource[] = [
  text('static-text', 'test://static-text'),
  text('watched-resource', 'test://watched-resource'),
  defineResource({
    ...common,
    name: 'static-binary',
    uri: 'test://static-binary',
    mimeType: 'image/png',
    read: async () => ({ base64: pixelPng, mimeType: 'image/png' }),
  }),
  defineResource({
    ...common,
    name: 'template',
    uri: 'test://template/{id}/data',
    mimeType: 'application/json',
    read: async (_context, id) => ({ text: JSON.stringify({ id, data: `Data for ID: ${id}` }) }),
  }),
]

/** A red pixel as PNG, and no sound as WAV, in base64: the smallest that are whole. */
export const pixelPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

export const silenceWav = Buffer.concat([
  Buffer.from('RIFF'),
  littleEndian(36),
  Buffer.from('WAVEfmt '),
  littleEndian(16),
  Buffer.from([1, 0, 1, 0]),
  littleEndian(8000),
  littleEndian(8000),
  Buffer.from([1, 0, 8, 0]),
  Buffer.from('data'),
  littleEndian(0),
]).toString('base64')

function littleEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
