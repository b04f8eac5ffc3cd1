/** Prints the Debian packages that bring what tests need and this machine lacks, for `.ci/run`. */
import { type Need, needs } from './needs.ts'

const missing = Object.values<Need>(needs).filter(need => !need.isHere())
process.stdout.write(missing.flatMap(({ debian = [] }) => debian).join(' '))
