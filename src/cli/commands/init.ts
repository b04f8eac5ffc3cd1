import { rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CliError, type Command, fileFailure, integerFlag, parseArguments, wrongValue } from '../command.ts'
import { configPath } from '../data/data-folder.ts'
import { asJson } from '../output.ts'

const name = 'farebox init'

/** The user waits for nothing else here, and a server that the user named may still be starting. */
const searchMs = 2_000
const namedServerMs = 10_000

const hostName = /^([\w.-]+|\[[\da-f:.]+\])$/i

const usage = `Usage: farebox init [--config FILE] [--host HOST] [--port N] [--no-search] [--json]

Writes a first farebox.yaml for \`farebox serve\`, with the models of servers found on this machine: Ollama, LM Studio,
vLLM, llama.cpp, SGLang and similar, on their usual ports. An existing file is not changed.

  --config FILE  where to write it (FAREBOX_CONFIG, or ./farebox.yaml)
  --host HOST    search this host instead; in a container, host.docker.internal is the machine that runs it
  --port N       also search this port
  --no-search    do not search
  --json         print what was found and written as one line of JSON`

export const init: Command = {
  usage,
  async run(args, io) {
    const { values } = parseArguments(args, {
      command: name,
      options: {
        config: { type: 'string' },
        host: { type: 'string' },
        port: { type: 'string' },
        'no-search': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    })
    const port = integerFlag(name, 'port', values.port, 1, 65_535)
    const { host } = values
    if (host !== undefined && !hostName.test(host))
      throw wrongValue(name, 'host', host, 'a name or an address, such as host.docker.internal or 10.0.0.5')
    const path = configPath(values.config, io.env)
    const [{ findLocalServers, localPlaces }, { firstConfig, lookedOver }] = await Promise.all([
      import('#engines/openai/find-local-servers.ts'),
      import('#service/config/local-models.ts'),
    ])
    const places = [...(port ? [{ name: 'a server', port }] : []), ...(values['no-search'] ? [] : localPlaces)]
    const servers = await findLocalServers(places, port ? namedServerMs : searchMs, host)
    const { found, leftOut } = lookedOver(servers)
    await writeNew(path, firstConfig(found))
    if (values.json) {
      const models = found.map(({ id, baseUrl, server }) => ({ id, baseUrl, server }))
      const left = leftOut.map(({ model, baseUrl, why }) => ({ model: oneLine(model), baseUrl, why }))
      io.output.print(asJson({ file: path, models, leftOut: left }))
      return 0
    }
    for (const { server, baseUrl, id } of found) io.output.print(`${id}, from ${baseUrl} (${server})`)
    for (const { model, baseUrl, why } of leftOut)
      io.output.print(`Left out: ${oneLine(model)}, from ${baseUrl}; ${why}.`)
    if (!found.length)
      io.output.print(
        `No model server was found on ${host ?? 'this machine'}; the file contains a demonstration model.`,
      )
    const { asTyped } = await import('#agent/words/typed-commands.ts')
    const next = asTyped(`run \`farebox serve --config ${path}\``)
    io.output.print(`Written to ${path}. The prices are guesses: set your own, then ${next}.`)
    return 0
  },
}

/** A server's own words, escaped for a terminal. */
const oneLine = (name: string): string => name.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, nameCharacters)

const nameCharacters = 100

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new CliError(`${path} already exists.`, 'Choose another file with `--config`.')
    if (code === 'ENOENT')
      throw new CliError(`There is no folder ${dirname(path)}.`, 'Create it, or choose another file with `--config`.')
    // A full disk leaves an empty file, which the next try would find.
    await rm(path, { force: true }).catch(() => undefined)
    const because =
      code === 'ENOSPC'
        ? `The disk of ${path} is full.`
        : (fileFailure(error)?.message ?? `${path} cannot be written (${code}).`)
    const fix = code === 'ENOSPC' ? 'Free some space' : 'Make it writable'
    throw new CliError(because, `${fix}, or choose another file with \`--config\`.`)
  }
}
