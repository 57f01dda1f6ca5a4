import findBackends from '../../jest/global-setup'
import { compileExamples } from './compile-examples'

export default async function globalSetup(): Promise<void> {
  await findBackends()
  await compileExamples()
}
