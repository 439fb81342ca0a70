"""The vault of a server: opened when it is needed, its files followed, closed at the end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from vaultmem.errors import VaultmemError
from vaultmem.surfaces import answers

if TYPE_CHECKING:
    from vaultmem.indexing.follower import Follower
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

LOOK_SECONDS: Final = 1.0  # between two looks at what other processes wrote
GAP_TELLINGS: Final = 2  # answers that say which languages meaning does not know
PAUSE_SECONDS: Final = 0.2  # after the first reply, for the few questions that come at once
PATIENCE_SECONDS: Final = 5.0  # with questions that do not end


class Life(Protocol):
    """The vault of a server, from its first use to the server's end."""

    def vault(self) -> Vault: ...
    @property
    def in_use(self) -> Vault | None: ...
    def start_following(self) -> None: ...
    def stop_following(self) -> None: ...


Opened = Callable[["Vault"], None]
MakeLife = Callable[[Opened, Callable[[], None]], Life]  # (vault opened, tell of a change)


class FollowedVault:
    def __init__(
        self,
        provide: Callable[[], Vault],
        opened: Callable[[Vault], None],
        notify: Callable[[], None],
        *,
        watch: bool,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_busy = is_busy
        self._provide = provide
        self._opened = opened  # before anything is asked of it
        self._notify = notify
        self._watch = watch
        self._opening = threading.Lock()
        self._vault: Vault | None = None
        self.follower: Follower | None = None
        self._revisions: RevisionWatch | None = None
        self._started: threading.Thread | None = None
        self._stopping = threading.Event()
        self._renewed = False  # the settings say of other notes now that they are memories

    def vault(self) -> Vault:
        """The open vault; opens it when nobody has. A failure is tried again next time."""
        with self._opening:
            if self._vault is None:
                vault = self._provide()
                self._opened(vault)
                vault.on_write.append(self.vault_changed)
                vault.tell_gaps(GAP_TELLINGS)
                self._vault = vault
            self._renewed |= self._vault.take_settings()
            return self._vault

    @property
    def in_use(self) -> Vault | None:
        """The vault, if it was opened and is not about to be closed."""
        return None if self._stopping.is_set() else self._vault

    def start_following(self) -> None:
        """Open the vault and follow its files, in a thread."""
        if self._started is None:
            self._started = threading.Thread(
                target=self._start_vault_follower, name="vaultmem-open", daemon=True
            )
            self._started.start()

    def _start_vault_follower(self) -> None:
        patience = time.monotonic() + PATIENCE_SECONDS
        while not self._stopping.wait(PAUSE_SECONDS):
            if not self._is_busy() or time.monotonic() > patience:
                break
        said = ""
        while self.follower is None and not self._stopping.is_set():
            try:
                self._follow_vault(self.vault())
            except Exception as error:  # the edge of a thread; it is tried again, as by every call
                told = str(answers.error_answer(error)["message"])
                if told != said:
                    log.error("The vault cannot be followed: %s", told)
                said = told
                self._stopping.wait(LOOK_SECONDS)
        while not self._stopping.wait(LOOK_SECONDS):
            self._follow_settings()
            if self._revisions is not None and self._revisions.has_news():
                self._notify()

    def _follow_settings(self) -> None:
        """What the settings keep away goes at once, what they open comes in."""
        try:
            vault = self.vault()
            if self._renewed:
                self._renewed = False
                vault.index_now()
        except Exception as error:  # the edge of a thread; callers are told
            log.debug("the settings cannot be followed: %s", error)

    def _follow_vault(self, vault: Vault) -> None:
        with self._opening:
            if not self._stopping.is_set():
                self._revisions = RevisionWatch(lambda: vault.revision)
                self.follower = vault.follower(self.vault_changed, watch=self._watch)
                self.follower.start()

    def vault_changed(self, what: object) -> None:
        if self._revisions is not None:
            self._revisions.told()
        self._notify()

    def stop_following(self) -> None:
        with self._opening:
            if self._stopping.is_set():
                return
            self._stopping.set()
        try:
            if self.follower is not None:
                self.follower.stop()
        except RuntimeError as error:  # it was just about to start
            log.debug("following the files ended oddly: %s", error)
        if self._vault is not None:
            self._vault.close()


class RevisionWatch:
    """Notices what other processes brought into the index: they tell only their own clients.

    A revision counts once it has stood for a moment, because one change may come in batches.
    """

    def __init__(self, revision: Callable[[], int]) -> None:
        self._revision = revision
        self._told = self._last = 0
        self.told()

    def told(self) -> None:
        """Our clients know of everything up to now."""
        self._told = self._last = self._revision_to_notify()

    def has_news(self) -> bool:
        now = self._revision_to_notify()
        stands, self._last = now == self._last, now
        if not stands or now == self._told:
            return False
        self._told = now
        return True

    def _revision_to_notify(self) -> int:
        try:
            return self._revision()
        except VaultmemError as error:
            log.debug("the index could not be asked for news: %s", error)
            return self._told
