"""Every optimizer that has a name, a line each: ``model.compile("adam")`` and the public names are made from them.

What needs more than default arguments, such as another optimizer, has no name: `graftax.optimizers` imports it itself.
"""

from graftax.optimizers.update_rules.adabelief import AdaBelief as AdaBelief
from graftax.optimizers.update_rules.adadelta import Adadelta as Adadelta
from graftax.optimizers.update_rules.adafactor import Adafactor as Adafactor
from graftax.optimizers.update_rules.adagrad import Adagrad as Adagrad
from graftax.optimizers.update_rules.adam import Adam as Adam
from graftax.optimizers.update_rules.adamax import Adamax as Adamax
from graftax.optimizers.update_rules.adamw import AdamW as AdamW
from graftax.optimizers.update_rules.adan import Adan as Adan
from graftax.optimizers.update_rules.ademamix import AdEMAMix as AdEMAMix
from graftax.optimizers.update_rules.adopt import ADOPT as ADOPT
from graftax.optimizers.update_rules.ftrl import Ftrl as Ftrl
from graftax.optimizers.update_rules.lamb import LAMB as LAMB
from graftax.optimizers.update_rules.lars import LARS as LARS
from graftax.optimizers.update_rules.lion import Lion as Lion
from graftax.optimizers.update_rules.muon import Muon as Muon
from graftax.optimizers.update_rules.nadam import Nadam as Nadam
from graftax.optimizers.update_rules.nadamw import NAdamW as NAdamW
from graftax.optimizers.update_rules.novograd import Novograd as Novograd
from graftax.optimizers.update_rules.prodigy import Prodigy as Prodigy
from graftax.optimizers.update_rules.radam import RAdam as RAdam
from graftax.optimizers.update_rules.rmsprop import RMSprop as RMSprop
from graftax.optimizers.update_rules.rprop import Rprop as Rprop
from graftax.optimizers.update_rules.schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
from graftax.optimizers.update_rules.schedule_free import ScheduleFreeSGD as ScheduleFreeSGD
from graftax.optimizers.update_rules.sgd import SGD as SGD
from graftax.optimizers.update_rules.shampoo import Shampoo as Shampoo
from graftax.optimizers.update_rules.sign_sgd import SignSGD as SignSGD
from graftax.optimizers.update_rules.sm3 import SM3 as SM3
from graftax.optimizers.update_rules.soap import SOAP as SOAP
from graftax.optimizers.update_rules.sophia import Sophia as Sophia
from graftax.optimizers.update_rules.yogi import Yogi as Yogi
