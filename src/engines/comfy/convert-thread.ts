/** The worker thread that converts a workflow's images to the requested format. */

import { answerImageTasks, convertImage } from '../images/raster.ts'
import type { ConvertTask } from './images.ts'

answerImageTasks(({ image, format }: ConvertTask): Promise<Buffer> => convertImage(image, format))
