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
      const names: string[] = []
      const declared: string[] = []
      for (const each of specifiers) {
        if (each.type !== 'ImportSpecifier') declared.push(each.local.name)
        else names.push(`${code.slice(each.imported.start, each.imported.end)}: ${each.local.name}`)
      }
      if (names.length) declared.push(`{ ${names.join(', ')} }`)
      const read = `globalThis.process.getBuiltinModule('${source.value}')`
      const statement = declared.length ? `const ${declared.map(each => `${each} = ${read}`).join(', ')};` : ''
      late = late.slice(0, start) + statement + late.slice(end)
    }
    return late
  },
}
