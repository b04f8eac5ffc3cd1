import type { Plugin } from 'rolldown'

/**
 * Reads Node's own modules at run time instead of importing them. An import reads every export, and some exports load
 * more: those of `node:http` all of `fetch`, those of `node:crypto` all of Web Crypto. An import is also resolved again
 * for each file. And on an older Node, an import that it lacks would fail before the error for an old Node is printed.
 */
export const lateBuiltins: Plugin = {
  name: 'late builtins',
  renderChunk(code) {
    const imports = this.parse(code).body.filter(node => node.type === 'ImportDeclaration')
    let late = code
    // From the last to the first, so that positions stay right.
    for (const { start, end, specifiers, source } of imports.toReversed()) {
      if (!source.value.startsWith('node:')) continue
      const whole: string[] = []
      const members: Member[] = []
      for (const each of specifiers) {
        if (each.type !== 'ImportSpecifier') whole.push(each.local.name)
        else members.push({ name: code.slice(each.imported.start, each.imported.end), local: each.local.name })
      }
      const statement = whole.length
        ? readAtOnce(source.value, members, whole)
        : readLate(source.value, members, `late$${start}`)
      late = late.slice(0, start) + statement + late.slice(end)
    }
    return late
  },
}

interface Member {
  name: string
  local: string
}

/**
 * Modules that take milliseconds to load, and those of their functions that are only ever called. The first call loads
 * the module, after `farebox mcp` has answered.
 */
const functions: Readonly<Record<string, readonly string[]>> = {
  'node:crypto': ['createHash', 'createHmac', 'randomBytes', 'randomUUID', 'timingSafeEqual'],
  'node:fs/promises': ['access', 'mkdir', 'readFile', 'readdir', 'rename', 'rm', 'stat', 'unlink', 'writeFile'],
  'node:readline/promises': ['createInterface'],
}

const read = (module: string) => `globalThis.process.getBuiltinModule('${module}')`

function readAtOnce(module: string, members: readonly Member[], whole: readonly string[] = []): string {
  const names = members.map(({ name, local }) => `${name}: ${local}`)
  const declared = names.length ? [...whole, `{ ${names.join(', ')} }`] : whole
  return declared.length ? `const ${declared.map(each => `${each} = ${read(module)}`).join(', ')};` : ''
}

function readLate(module: string, members: readonly Member[], variable: string): string {
  const isCalled = ({ name }: Member) => functions[module]?.includes(name) ?? false
  if (!members.length || !members.every(isCalled)) return readAtOnce(module, members)
  const called = members.map(
    ({ name, local }) => `${local} = (...given) => (${variable} ??= ${read(module)}).${name}(...given)`,
  )
  return `let ${variable}; const ${called.join(', ')};`
}
