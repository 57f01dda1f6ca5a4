import { it, test } from '@jest/globals'

it.concurrent = test.concurrent = it as unknown as typeof it.concurrent
