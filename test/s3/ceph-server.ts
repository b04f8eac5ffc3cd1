/** An S3 server of its own for tests: Ceph's gateway with one monitor and one store in memory, on free ports. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Bucket } from '#media/bucket.ts'
import type { BucketOptions } from '#media/media-options.ts'
import { findProgram } from '../needs/find-program.ts'
import { freePort } from '../postgres/cluster.ts'
import type { S3Server } from './swift-server.ts'

const startDeadlineMs = 120_000

const run = promisify(execFile)

export class CephServer implements S3Server {
  readonly #accessKey = 'testkey'
  readonly #secretKey = 'testsecret12345'
  readonly #folder: string
  readonly #port: number
  readonly #cluster: ChildProcess[] = []
  #gateway: ChildProcess | null = null
  #buckets = 0

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
  }

  static async start(): Promise<CephServer> {
    if (!findProgram('radosgw')) throw new Error('Ceph was not found.')
    const server = new CephServer(await mkdtemp(join(tmpdir(), 'farebox-ceph-')), await freePort())
    try {
      await server.#startCluster()
      await server.run()
      await server.#createUser()
      return server
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** A new, empty bucket. */
  async bucket(): Promise<BucketOptions> {
    const options = { ...this.#options, bucket: `films-${++this.#buckets}` }
    await new Bucket(options).ask({ method: 'PUT' })
    return options
  }

  /** Starts the gateway, also after a kill; resolves when it answers. */
  async run(): Promise<void> {
    this.#gateway = this.#spawn('radosgw', '-n', 'client.rgw', '-f')
    await this.#until('its gateway', () => fetch(this.#options.endpoint))
  }

  /** The gateway alone: what it acknowledged is in the store, which has its data in memory. */
  async kill(): Promise<void> {
    if (this.#gateway) await killed(this.#gateway)
    this.#gateway = null
  }

  async stop(): Promise<void> {
    await this.kill()
    await Promise.all(this.#cluster.map(killed))
    await rm(this.#folder, { recursive: true, force: true })
  }

  get #options() {
    const keys = { accessKey: this.#accessKey, secretKey: this.#secretKey }
    return { ...keys, endpoint: `http://127.0.0.1:${this.#port}`, region: 'us-east-1' }
  }

  async #startCluster(): Promise<void> {
    const [first, second] = [await freePort(), await freePort()]
    const monitor = `[v2:127.0.0.1:${first},v1:127.0.0.1:${second}]`
    const id = randomUUID()
    for (const name of ['mon', 'osd', 'run', 'rgw']) await mkdir(join(this.#folder, name))
    await writeFile(join(this.#folder, 'ceph.conf'), configOf(this.#folder, { id, monitor, port: this.#port }))
    const map = join(this.#folder, 'monmap')
    await this.#do('monmaptool', '--create', '--clobber', '--addv', 'a', monitor, '--fsid', id, map)
    await this.#do('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map)
    this.#cluster.push(this.#spawn('ceph-mon', '-i', 'a', '-f'))
    const store = randomUUID()
    await this.#until('its monitor', () => this.#do('ceph', '--connect-timeout', '5', 'osd', 'new', store))
    await this.#do('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', store)
    this.#cluster.push(this.#spawn('ceph-osd', '-i', '0', '-f'))
    await this.#until('its store', async () => {
      const { stdout } = await this.#do('ceph', '--connect-timeout', '5', 'osd', 'stat')
      if (!stdout.includes('1 up')) throw new Error('It is not up yet.')
    })
  }

  #createUser() {
    const keys = ['--access-key', this.#accessKey, '--secret', this.#secretKey]
    return this.#do('radosgw-admin', '-n', 'client.rgw', 'user', 'create', '--uid=test', '--display-name=test', ...keys)
  }

  async #until(what: string, ask: () => Promise<unknown>): Promise<void> {
    const endMs = performance.now() + startDeadlineMs
    for (;;) {
      const failure = await ask().then(
        () => null,
        error => error as Error,
      )
      if (!failure) return
      if (performance.now() > endMs) throw new Error(`Ceph did not start in time: ${what}.`, { cause: failure })
      await sleep(250)
    }
  }

  get #env() {
    return { ...process.env, CEPH_CONF: join(this.#folder, 'ceph.conf') }
  }

  #do(program: string, ...args: string[]) {
    return run(program, args, { env: this.#env })
  }

  #spawn(program: string, ...args: string[]): ChildProcess {
    return spawn(program, args, { env: this.#env, stdio: 'ignore' })
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

const configOf = (folder: string, { id, monitor, port }: { id: string; monitor: string; port: number }): string =>
  `[global]
fsid = ${id}
mon_host = ${monitor}
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = ${folder}/run
admin_socket = ${folder}/run/$name.asok
log_file = ${folder}/run/$name.log
crash_dir = ${folder}/run
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
ms_mon_client_mode = crc
auth_allow_insecure_global_id_reclaim = false
public_addr = 127.0.0.1
[mon.a]
mon_data = ${folder}/mon
[osd]
osd_data = ${folder}/osd
osd_objectstore = memstore
[client.rgw]
ms_mon_client_mode = crc
rgw_data = ${folder}/rgw
rgw_frontends = beast endpoint=127.0.0.1:${port}
rgw_dns_name = localhost
rgw_enable_usage_log = false
rgw_enable_apis = s3, admin
`
