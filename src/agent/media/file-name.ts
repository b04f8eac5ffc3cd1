import { join } from 'node:path'

/** A name of ours: when, by which model, which job. Nothing of it is a stranger's. */
export function outputName(startedAtMs: number, model: string, jobId: string, extension: string): string {
  const when = new Date(startedAtMs).toISOString().slice(0, 16).replace(/[-:]/g, '').replace('T', '-')
  return `${when}-${slugOf(model, 'file')}-${jobId.slice(-6)}.${extension}`
}

/** Small letters, digits and hyphens of a name; `otherwise` where it has none. */
export const slugOf = (name: string, otherwise: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || otherwise

export const inFolder = (folder: string, name: string): string => join(folder, name)
