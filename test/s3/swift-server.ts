/** An S3 server of its own for tests: one node of OpenStack Swift with its S3 API, in a temporary folder, on free ports. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Bucket } from '#media/bucket.ts'
import type { BucketOptions } from '#media/media-options.ts'
import { findProgram } from '../needs/find-program.ts'
import { freePort } from '../postgres/cluster.ts'

const startDeadlineMs = 120_000

const parts = ['object', 'container', 'account', 'proxy'] as const
type Part = (typeof parts)[number]

/** A server with S3's API that a test may kill. */
export interface S3Server {
  /** A new, empty bucket. */
  bucket(): Promise<BucketOptions>
  /** At once, as by a loss of power; what it acknowledged stays. */
  kill(): Promise<void>
  /** Starts what does not run, also after a kill; resolves when it answers. */
  run(): Promise<void>
  stop(): Promise<void>
}

export class SwiftServer implements S3Server {
  readonly accessKey = 'test:tester'
  readonly secretKey = 'testing'
  readonly #folder: string
  readonly #ports: Readonly<Record<Part, number>>
  readonly #processes = new Map<Part, ChildProcess>()
  #buckets = 0

  private constructor(folder: string, ports: Readonly<Record<Part, number>>) {
    this.#folder = folder
    this.#ports = ports
  }

  static async start(): Promise<SwiftServer> {
    if (!findProgram('swift-proxy-server')) throw new Error('OpenStack Swift was not found.')
    const folder = await mkdtemp(join(tmpdir(), 'farebox-swift-'))
    const [object, container, account, proxy] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    const server = new SwiftServer(folder, { object, container, account, proxy })
    await server.#configure()
    await server.run()
    return server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#ports.proxy}`
  }

  async bucket(): Promise<BucketOptions> {
    const { endpoint, accessKey, secretKey } = this
    const options = { endpoint, accessKey, secretKey, region: 'us-east-1', bucket: `films-${++this.#buckets}` }
    await new Bucket(options).ask({ method: 'PUT' })
    return options
  }

  async run(): Promise<void> {
    for (const part of parts) {
      const child = spawn(`swift-${part}-server`, [this.#file(part)], {
        stdio: 'ignore',
        env: { ...process.env, SWIFT_CONF_DIR: this.#folder },
      })
      this.#processes.set(part, child)
    }
    const endMs = performance.now() + startDeadlineMs
    while (!(await this.#answers())) {
      if (performance.now() > endMs) throw new Error('Swift did not start in time.')
      await sleep(100)
    }
  }

  async kill(): Promise<void> {
    const ends = [...this.#processes.values()].flatMap(child => {
      if (child.exitCode !== null || child.signalCode !== null) return []
      child.kill('SIGKILL')
      return [once(child, 'exit')]
    })
    await Promise.all(ends)
  }

  async stop(): Promise<void> {
    await this.kill()
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** A bucket's listing needs all four servers. */
  async #answers(): Promise<boolean> {
    const { endpoint, accessKey, secretKey } = this
    const probe = new Bucket({ endpoint, accessKey, secretKey, region: 'us-east-1', bucket: 'farebox-probe' })
    return probe.ask({ method: 'HEAD', fine: [404] }).then(
      () => true,
      () => false,
    )
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.conf`)
  }

  async #configure(): Promise<void> {
    await mkdir(join(this.#folder, 'srv', 'd1'), { recursive: true })
    const hash = '[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n'
    const limit = '[swift-constraints]\nmax_file_size = 5368709122\n'
    await writeFile(this.#file('swift'), `${hash}[storage-policy:0]\nname = one\ndefault = yes\n${limit}`)
    const common = `[DEFAULT]
user = ${userInfo().username}
swift_dir = ${this.#folder}
devices = ${join(this.#folder, 'srv')}
mount_check = false
disable_fallocate = true
bind_ip = 127.0.0.1
workers = 0
log_level = CRITICAL
`
    await Promise.all((['object', 'container', 'account'] as const).map(part => this.#configureStore(part, common)))
    await writeFile(this.#file('proxy'), `${common}bind_port = ${this.#ports.proxy}\n${proxyPipeline}`)
  }

  async #configureStore(part: Exclude<Part, 'proxy'>, common: string): Promise<void> {
    const port = this.#ports[part]
    const app = `[pipeline:main]\npipeline = ${part}-server\n[app:${part}-server]\nuse = egg:swift#${part}\n`
    await writeFile(this.#file(part), `${common}bind_port = ${port}\n${app}`)
    const ring = (...args: string[]) =>
      promisify(execFile)('swift-ring-builder', [join(this.#folder, `${part}.builder`), ...args])
    await ring('create', '4', '1', '0')
    await ring('add', `r1z1-127.0.0.1:${port}/d1`, '1')
    await ring('rebalance')
  }
}

const filters =
  'catch_errors gatekeeper memcache listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink'

const proxyPipeline = `[pipeline:main]
pipeline = ${filters} proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
${filters
  .split(' ')
  .map(name => `[filter:${name}]\nuse = egg:swift#${name}\n${settingsOf(name)}`)
  .join('')}`

function settingsOf(filter: string): string {
  // Signing in needs the filter, and does without its server.
  if (filter === 'memcache') return 'memcache_servers = 127.0.0.1:1\n'
  if (filter === 's3api') return 's3_acl = false\nlocation = us-east-1\ncheck_bucket_owner = false\n'
  return filter === 'tempauth' ? 'user_test_tester = testing .admin\n' : ''
}
