/** The thread on which a workflow's images get the format of their request. */

import { answerImageTasks, convertImage } from '../images/raster.ts'
import type { ConvertTask } from './images.ts'

answerImageTasks(({ image, format }: ConvertTask): Promise<Buffer> => convertImage(image, format))
