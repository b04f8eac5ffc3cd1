import type { Plugin } from 'rolldown'

/**
 * Reads Node's own modules at run time instead of importing them. An import reads every export, and some of those load
 * more: `node:http` all of `fetch`, `node:crypto` all of Web Crypto. It is also resolved anew for each file. And an older
 * Node fails on an import that it lacks before the message for it is printed.
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
 * Modules that take milliseconds to load, and their functions that are only ever called. They are loaded by the first
 * call, which comes after `farebox mcp` has answered.
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
