import { globSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Prompt, Resource, Tool } from '#toolkit/define.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Source<Value> {
  /** The path after `./` in its folder. */
  file: string
  value: Value
}

export type Folder = 'tools' | 'prompts' | 'resources'

/** Returns every tool, prompt or resource by name; its file must have the same name. */
export async function sources(folder: 'tools'): Promise<Source<Tool>[]>
export async function sources(folder: 'prompts'): Promise<Source<Prompt>[]>
export async function sources(folder: 'resources'): Promise<Source<Resource>[]>
export async function sources(folder: Folder): Promise<Source<{ name: string }>[]>
export async function sources(folder: Folder): Promise<Source<{ name: string }>[]> {
  const files = globSync('*.ts', { cwd: `${root}/${folder}` })
    .filter(file => !file.includes('.generated.'))
    .sort()
  return Promise.all(
    files.map(async file => {
      const module = (await import(pathToFileURL(`${root}/${folder}/${file}`).href)) as { default: { name: string } }
      const { name } = module.default
      if (file !== `${name.replaceAll('_', '-')}.ts`) throw new Error(`${folder}/${file} holds \`${name}\``)
      return { file, value: module.default }
    }),
  )
}

/** Returns a list for a generated module, one entry a line: quick to load, and a changed entry is one changed line. */
export const jsonLines = (entries: readonly object[]): string =>
  `[\n${entries.map(entry => `  ${JSON.stringify(entry)},\n`).join('')}]`
