/** A missing ledger in PostgreSQL: `doctor`, `serve` and `ledger` give the same advice. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../../postgres/cluster.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { runCommand } from '../run-command.ts'

vi.setConfig({ testTimeout: 60_000 })

withPostgres('a ledger in PostgreSQL', cluster => {
  let folder: string
  let file: string
  beforeAll(async () => {
    folder = temporaryFolder('doctor')
    file = join(folder, 'farebox.yaml')
    await cluster().asSuperuser('CREATE ROLE guest LOGIN', 'postgres')
    const model = 'id: one, type: text, contextTokens: 1000, price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }'
    await writeFile(
      file,
      `publicUrl: http://127.0.0.1:8402\nlisten: 127.0.0.1:0\nmodels: [{ ${model}, upstreams: [{ engine: demo }] }]\n`,
    )
  })

  /** What `doctor` finds. */
  async function found(url: string): Promise<object | undefined> {
    const { stdout } = await runCommand(['doctor', '--json', '--config', file], { DATABASE_URL: url })
    expect(stdout).not.toContain('hunter2')
    return stdout
      .split('\n')
      .flatMap(line => (line ? [JSON.parse(line) as { check: string }] : []))
      .find(({ check }) => check === 'ledger')
  }

  const portOf = (url: string) => new URL(url).port

  test.each<[string, () => Promise<string>, (port: string) => { says: string; next: string }]>([
    [
      'a database that does not exist is named, with the command that creates it',
      async () => cluster().urlOf('farebox:hunter2', 'fb'),
      port => ({
        says: 'The PostgreSQL database fb does not exist.',
        next: `Create it with \`createdb --host=127.0.0.1 --port=${port} --owner=farebox fb\`, as a role that may create databases, or correct \`database\` or DATABASE_URL.`,
      }),
    ],
    [
      'a name that a shell would take apart is quoted',
      async () => cluster().urlOf('farebox:hunter2', 'a%20b'),
      port => ({
        says: "The PostgreSQL database 'a b' does not exist.",
        next: `Create it with \`createdb --host=127.0.0.1 --port=${port} --owner=farebox 'a b'\`, as a role that may create databases, or correct \`database\` or DATABASE_URL.`,
      }),
    ],
    [
      'a role that does not exist is named',
      async () => cluster().urlOf('stranger:hunter2', 'farebox'),
      port => ({
        says: `PostgreSQL at 127.0.0.1:${port} refuses the role stranger: it does not exist, or pg_hba.conf does not allow it (28000).`,
        next: `Create it with \`createuser --host=127.0.0.1 --port=${port} stranger\`, allow it, or correct \`database\` or DATABASE_URL.`,
      }),
    ],
    [
      'a server that does not run is named',
      async () => `postgres://farebox:hunter2@127.0.0.1:${await freePort()}/fb`,
      port => ({
        says: `PostgreSQL at 127.0.0.1:${port} does not answer (ECONNREFUSED).`,
        next: 'Start it, or correct `database` or DATABASE_URL.',
      }),
    ],
  ])('%s', async (_rule, urlOf, told) => {
    const url = await urlOf()
    const { says, next } = told(portOf(url))
    expect(await found(url)).toEqual({ check: 'ledger', state: 'broken', says, next })
    for (const command of [
      ['serve', '--config', file],
      ['ledger', 'audit'],
    ]) {
      const { code, stderr } = await runCommand(command, { DATABASE_URL: url })
      expect([code, stderr]).toEqual([1, `${says} ${next}\n`])
    }
  })

  test('a database without a ledger is well before the first start, if the role may create one', async () => {
    await cluster().asSuperuser('CREATE DATABASE nothing_yet OWNER farebox', 'postgres')
    expect(await found(cluster().urlOf('farebox', 'nothing_yet'))).toMatchObject({ state: 'ok' })
    expect(await found(cluster().urlOf('guest', 'nothing_yet'))).toMatchObject({
      state: 'broken',
      next: expect.stringContaining('GRANT CREATE'),
    })
  })
})
