/* Threads, locks and signals (condition variables) as each system has them. */
#pragma once

#if defined __wasm__ /* one thread: there is nothing to lock, and nobody to wait for */
typedef int Lock, Signal, Thread;
#define RESULT void *
#define lock_init(lock) ((void)(lock))
#define lock_take(lock) ((void)(lock))
#define lock_leave(lock) ((void)(lock))
#define lock_free(lock) ((void)(lock))
#define signal_init(signal) ((void)(signal))
#define signal_wait(signal, lock) ((void)(signal))
#define signal_all(signal) ((void)(signal))
#define signal_free(signal) ((void)(signal))
#define thread_start(thread, run, with) ((void)(run), 0)
#define thread_join(thread) ((void)(thread))
#elif defined _WIN32
#include <windows.h>
typedef HANDLE Thread;
typedef SRWLOCK Lock;
typedef CONDITION_VARIABLE Signal;
#define RESULT DWORD WINAPI
#define lock_init InitializeSRWLock
#define signal_init InitializeConditionVariable
#define lock_take AcquireSRWLockExclusive
#define lock_leave ReleaseSRWLockExclusive
#define lock_free(lock) ((void)(lock))
#define signal_wait(signal, lock) SleepConditionVariableSRW(signal, lock, INFINITE, 0)
#define signal_all WakeAllConditionVariable
#define signal_free(signal) ((void)(signal))
#define thread_start(thread, run, with) \
    ((*(thread) = CreateThread(NULL, 0, run, with, 0, NULL)) != NULL)
#define thread_join(thread) (WaitForSingleObject(thread, INFINITE), CloseHandle(thread))
#else
#include <pthread.h>
typedef pthread_t Thread;
typedef pthread_mutex_t Lock;
typedef pthread_cond_t Signal;
#define RESULT void *
#define lock_init(lock) pthread_mutex_init(lock, NULL)
#define signal_init(signal) pthread_cond_init(signal, NULL)
#define lock_take pthread_mutex_lock
#define lock_leave pthread_mutex_unlock
#define lock_free pthread_mutex_destroy
#define signal_wait pthread_cond_wait
#define signal_all pthread_cond_broadcast
#define signal_free pthread_cond_destroy
#define thread_start(thread, run, with) (pthread_create(thread, NULL, run, with) == 0)
#define thread_join(thread) pthread_join(thread, NULL)
#endif
