import { isBuiltin } from 'node:module'
import { packageOf, type Room, roomOf, rooms, targetOf } from './rooms.ts'
import type { Import, ParsedFile, Violation } from './source-file.ts'

/** Rooms import along the arrows only, and by `#room/…`. */
export function wrongArrows(files: readonly ParsedFile[]): Violation[] {
  return files.flatMap(file => {
    const name = roomOf(file.path)
    const room = name === undefined ? undefined : rooms[name]
    if (name === undefined || !room) return []
    return file.imports.flatMap(item => {
      const message = wrongArrow(file.path, name, room, item)
      return message ? [{ path: file.path, line: item.line, message }] : []
    })
  })
}

/** What every start of the program loads names no room but the contract, and no command: those come when one is typed. */
export function eagerCommands(files: readonly ParsedFile[]): Violation[] {
  const known = new Map(files.map(file => [file.path, file]))
  const frame = new Set(frameEntries)
  const found: Violation[] = []
  for (const path of frame) {
    for (const { specifier, kind, isDynamic, line } of known.get(path)?.imports ?? []) {
      const target = targetOf(path, specifier)
      if (target === undefined || kind === 'type' || isDynamic) continue
      const isOfFrame = ['cli', 'contract'].includes(roomOf(target) ?? '') && !target.startsWith('src/cli/commands/')
      if (isOfFrame) frame.add(target)
      else found.push({ path, line, message: `loads ${specifier} at start; only a command may, when it is typed` })
    }
  }
  return found
}

const frameEntries = ['src/cli/main.ts', 'src/cli/commands.ts']

/** Packages that a room may not import. */
export function wrongPackages(files: readonly ParsedFile[]): Violation[] {
  return files.flatMap(file => {
    const name = roomOf(file.path)
    const room = name === undefined ? undefined : rooms[name]
    if (!room) return []
    return file.imports
      .filter(({ specifier }) => targetOf(file.path, specifier) === undefined && !mayImport(room, specifier))
      .map(({ specifier, line }) => ({ path: file.path, line, message: `${name} may not import ${specifier}` }))
  })
}

function wrongArrow(path: string, name: string, room: Room, { specifier }: Import): string | undefined {
  const target = targetOf(path, specifier)
  if (target === undefined) return undefined
  const other = roomOf(target)
  if (other === name) return undefined
  if (other === undefined) return `${name} imports ${target}, which is in no room`
  if (!room.imports.includes(other)) return `${name} may not import ${other} (${specifier})`
  if (specifier.startsWith('.')) return `${name} reaches ${other} by a path; write #${other}/…`
  return undefined
}

function mayImport(room: Room, specifier: string): boolean {
  return isBuiltin(specifier) || room.packages === undefined || room.packages.includes(packageOf(specifier))
}
