import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { installMs } from './bounds.ts'

const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/

/** Runs the npm that started this, or the one on the PATH. Resolves to its stdout. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const own = process.env.npm_execpath
  const [program, before] = own ? [process.execPath, [own]] : ['npm', []]
  try {
    const run = promisify(execFile)
    // A silent `npm run` would hand its silence down, and with it the reason of a failure.
    const { stdout } = await run(program, [...before, ...args, '--loglevel=error'], {
      cwd,
      timeout: installMs,
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout
  } catch (error) {
    const { stderr = '', message, killed } = error as { stderr?: string; message: string; killed?: boolean }
    if (killed || UNREACHABLE.test(stderr)) {
      throw new Error(
        'The npm registry cannot be reached, and this benchmark installs the packed farebox and its peers from it. See `npm config get registry` and try again.',
      )
    }
    throw new Error(`npm ${args[0]} failed:\n${stderr || message}`)
  }
}
