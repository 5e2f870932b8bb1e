/** Fails while it is loaded, as a module with a missing setting does. */
throw new Error('TABLE_NAME is not set');
