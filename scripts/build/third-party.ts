import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OutputChunk } from 'rolldown'

interface Manifest {
  name: string
  version: string
  license?: string
}

const RULE = `\n\n${'-'.repeat(80)}\n\n`

/** The licences of all packages that are part of the bundle. A package without a licence stops the build. */
export async function thirdPartyNotice(chunks: readonly OutputChunk[]): Promise<string> {
  const folders = new Set(chunks.flatMap(({ moduleIds }) => moduleIds).flatMap(path => packageFolder(path) ?? []))
  const notices = await Promise.all([...folders].sort().map(notice))
  return `farebox contains the following packages in its bundle.${RULE}${notices.join(RULE)}\n`
}

function packageFolder(path: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))?.[1]
}

async function notice(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
  const names = await readdir(folder)
  const files = names.filter(name => /^(licen[cs]e|notice|copying)(\.|-|$)/i.test(name)).sort()
  if (files.length === 0 && !manifest.license) {
    throw new Error(`${manifest.name} states no licence: leave it out of the bundle`)
  }
  const texts = await Promise.all(files.map(name => readFile(join(folder, name), 'utf8')))
  const head = `${manifest.name} ${manifest.version} (${manifest.license ?? 'see below'})`
  return [head, ...texts.map(text => text.trim())].join('\n\n')
}
