import { readFile } from 'node:fs/promises'
import { jsonLines } from './generators/sources.ts'

/** The contracts of the local chain, compiled into modules, so that only this script needs the compiler. */
export const compiledContracts = [
  contractModule({ folder: 'src/local/token', file: 'usdc', contract: 'LocalUsdc', needsAbi: true }),
  contractModule({ folder: 'src/local/token', file: 'multicall3', contract: 'Multicall3', needsAbi: false }),
]

interface Source {
  folder: string
  /** Without `.sol`; also the prefix of the exported constants: `usdcAbi`, `usdcCode`. */
  file: string
  contract: string
  /** Whether our code calls the contract by its interface. */
  needsAbi: boolean
}

/** Settings that give the same bytes on every machine: no metadata hash, a fixed instruction set. */
const settings = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object', 'evm.deployedBytecode.immutableReferences'] } },
}

interface CompilerOutput {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<string, Record<string, { abi: readonly object[]; evm: { deployedBytecode: { object: string } } }>>
}

function contractModule({ folder, file, contract, needsAbi }: Source) {
  return {
    path: `${folder}/${file}.generated.ts`,
    async make() {
      const source = await readFile(new URL(`../${folder}/${file}.sol`, import.meta.url), 'utf8')
      const { abi, code } = await compileContract(`${file}.sol`, contract, source)
      return [
        `/** Compiled from ${file}.sol; written by \`npm run generate\`. */`,
        '',
        ...(needsAbi ? [`export const ${file}Abi = ${jsonLines(abi)} as const`, ''] : []),
        `/** What stands at the address, not what a deployment would run. */`,
        `export const ${file}Code = '0x${code}'`,
        '',
      ].join('\n')
    },
  }
}

/** Returns the interface and runtime code of one contract; throws the compiler's messages, including warnings. */
export async function compileContract(
  file: string,
  contract: string,
  source: string,
): Promise<{ abi: readonly object[]; code: string }> {
  // The compiler takes half a second to load, so only a run that compiles loads it.
  const { default: solc } = await import('solc')
  const input = { language: 'Solidity', sources: { [file]: { content: source } }, settings }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput
  const messages = output.errors?.map(error => error.formattedMessage) ?? []
  const compiled = output.contracts?.[file]?.[contract]
  if (messages.length > 0 || !compiled) throw new Error(`${file} does not compile cleanly:\n${messages.join('\n')}`)
  return { abi: compiled.abi, code: compiled.evm.deployedBytecode.object }
}
