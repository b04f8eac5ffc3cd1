import { roomOf, rooms, targetOf } from './rooms.ts'
import type { ParsedFile, SourceFile, Violation } from './source-file.ts'

/** With more files, it is hard to see which belong together. */
const MAX_FILES_BESIDE_FOLDERS = 8

/** Files in the folder of each room itself. Those of tools, prompts, resources and pages are a list, so they don't count. */
export const filesBesideFolders = <File extends Pick<SourceFile, 'path'>>(files: readonly File[]) =>
  Object.entries(rooms)
    .filter(([, { folder }]) => folder.startsWith('src/'))
    .map(([name, { folder }]) => ({
      name,
      beside: files.filter(({ path }) => path.startsWith(`${folder}/`) && isBeside(path.slice(folder.length + 1))),
    }))

const isBeside = (path: string): boolean => !path.includes('/') && !path.includes('.generated.')

export const crowdedRooms = (files: readonly Pick<SourceFile, 'path'>[]): Violation[] =>
  filesBesideFolders(files)
    .filter(({ beside }) => beside.length > MAX_FILES_BESIDE_FOLDERS)
    .map(({ name, beside }) => ({
      path: beside[0]?.path ?? name,
      line: 1,
      message: `is one of ${beside.length} files beside the folders of ${name}; ${MAX_FILES_BESIDE_FOLDERS} are the most`,
    }))

/** Folders of one room that need each other, by types too: what goes in a circle is one thing in two places. */
export function folderCircles(files: readonly ParsedFile[]): Violation[] {
  const arrows = files.flatMap(arrowsOf)
  const ways = new Map<string, Set<string>>()
  for (const { from, to } of arrows) ways.set(from, (ways.get(from) ?? new Set()).add(to))
  return arrows
    .filter(({ from, to }) => leadsTo(to, from, ways))
    .map(({ from, to, path, line }) => ({ path, line, message: `${from} needs ${to}, which needs it` }))
}

interface Arrow {
  /** Folders, from the root of the repository. */
  from: string
  to: string
  path: string
  line: number
}

const arrowsOf = ({ path, imports }: ParsedFile): Arrow[] =>
  imports.flatMap(({ specifier, line }) => {
    const from = folderOf(path)
    const to = folderOf(targetOf(path, specifier) ?? '')
    return from === undefined || to === undefined || from === to || roomOf(`${from}/`) !== roomOf(`${to}/`)
      ? []
      : [{ from, to, path, line }]
  })

/** The folder of a room in which a file is; undefined for what lies beside the folders, which puts them together. */
function folderOf(path: string): string | undefined {
  const name = roomOf(path)
  const room = name === undefined ? undefined : rooms[name]
  if (!room) return undefined
  const [first, ...rest] = path.slice(room.folder.length + 1).split('/')
  return rest.length > 0 ? `${room.folder}/${first}` : undefined
}

function leadsTo(start: string, end: string, ways: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const seen = new Set([start])
  for (const folder of seen) for (const next of ways.get(folder) ?? []) seen.add(next)
  return seen.has(end)
}
