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

/** The frame of the commands loads rooms only when a command is typed. */
export function eagerCommands(files: readonly ParsedFile[]): Violation[] {
  const frame = files.filter(({ path }) => path.startsWith('src/cli/') && !path.startsWith('src/cli/commands/'))
  return frame.flatMap(file =>
    file.imports
      .filter(({ kind, isDynamic }) => kind === 'value' && !isDynamic)
      .filter(({ specifier }) => {
        const target = targetOf(file.path, specifier)
        const room = target === undefined ? undefined : roomOf(target)
        return target?.startsWith('src/cli/commands/') || !['cli', 'contract', undefined].includes(room)
      })
      .map(({ specifier, line }) => ({
        path: file.path,
        line,
        message: `loads ${specifier} at start; only a command may, when it is typed`,
      })),
  )
}

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

function wrongArrow(path: string, name: string, room: Room, { specifier, kind }: Import): string | undefined {
  const target = targetOf(path, specifier)
  if (target === undefined) return undefined
  const other = roomOf(target)
  if (other === name) return undefined
  if (other === undefined) return `${name} imports ${target}, which is in no room`
  if (!room.imports.includes(other)) return `${name} may not import ${other} (${specifier})`
  if (room.typesOnly && kind === 'value') return `${name} may import only types of ${other} (${specifier})`
  if (specifier.startsWith('.')) return `${name} reaches ${other} by a path; write #${other}/…`
  return undefined
}

function mayImport(room: Room, specifier: string): boolean {
  if (isBuiltin(specifier)) return room.builtins ?? true
  return room.packages === undefined || room.packages.includes(packageOf(specifier))
}
