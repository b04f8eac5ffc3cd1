import { defineResource, type Resource } from '#toolkit/define.ts'
import { pixelPng } from './media.ts'

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
